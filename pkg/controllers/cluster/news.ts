/** What a person wants to hear of a cluster: told when it changes, not as long as it lasts. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import type { EventRecorder, NewEvent } from "../../kube/events.ts";
import { isTrue } from "../../plan/cluster/conditions.ts";
import type { ClusterReport } from "../../plan/cluster/status.ts";
import type { FailoverOutcome } from "../../plan/failover/view.ts";
import { SLOTS } from "../../plan/formation/slots.ts";
import { LASTING_HOLDS } from "../../plan/rollout/rollout.ts";
import { subjectOf } from "./subject.ts";

type Told = Pick<NewEvent, "type" | "reason" | "action" | "note">;

/** What of an agent's words a person should hear too. */
const TOLD: ReadonlyMap<string, Pick<Told, "type" | "action">> = new Map([
  ["FilesSetAside", { type: "Warning", action: "Observe" }],
  ["HandedOver", { type: "Normal", action: "HandOver" }],
  ["NotHandedOver", { type: "Warning", action: "HandOver" }],
  ["ServerDied", { type: "Warning", action: "Observe" }],
  ["ServerSilent", { type: "Warning", action: "Observe" }],
  ["SettingsLeftOut", { type: "Warning", action: "Observe" }],
]);

export class News {
  readonly #recorder: Pick<EventRecorder, "record">;
  /** Reasons of troubles that were told, by cluster. */
  readonly #troubles = new Map<string, ReadonlySet<string>>();

  constructor(recorder: Pick<EventRecorder, "record">) {
    this.#recorder = recorder;
  }

  tell(cluster: ValkeyCluster, event: Told): void {
    this.#recorder.record({ regarding: subjectOf(cluster), ...event });
  }

  /** Compares the status that is stored with the one that comes now. */
  compare(cluster: ValkeyCluster, { status, facts }: ClusterReport): void {
    for (const event of turns(cluster.status, status)) this.tell(cluster, event);
    const key = cluster.metadata.uid ?? "";
    const before = this.#troubles.get(key) ?? new Set<string>();
    const troubles = facts.troubles.filter(({ severity }) => severity !== "notice");
    this.#troubles.set(key, new Set(troubles.map(({ reason }) => reason)));
    for (const { reason, message } of troubles) {
      if (!before.has(reason)) this.tell(cluster, { type: "Warning", reason, action: "Observe", note: message });
    }
  }

  handedOver(cluster: ValkeyCluster, node: string, outcome: Omit<FailoverOutcome, "request">): void {
    const { result, successor, writesWaitedMs, message } = outcome;
    if (result === "handed-over") {
      const note = `${node} handed over to ${successor}, writes waited ${writesWaitedMs} ms`;
      this.tell(cluster, { type: "Normal", reason: "HandedOver", action: "HandOver", note });
    } else if (result !== "not-primary") {
      const note = `${node} leads on, its handover did not succeed: ${message}`;
      this.tell(cluster, { type: "Warning", reason: "HandoverFailed", action: "HandOver", note });
    }
  }

  /** What an agent could not wait to say, if a person should hear it too. */
  report(
    cluster: ValkeyCluster,
    node: string,
    { reason, message }: { readonly reason: string; readonly message: string },
  ): void {
    const how = TOLD.get(reason);
    if (how !== undefined) this.tell(cluster, { ...how, reason, note: `${node}: ${message}` });
  }

  forget(cluster: ValkeyCluster): void {
    this.#troubles.delete(cluster.metadata.uid ?? "");
  }
}

interface Turn extends Omit<Told, "note"> {
  readonly when: (before: ValkeyClusterStatus | undefined, now: ValkeyClusterStatus) => boolean;
  /** Defaults to the status' own message. */
  readonly note?: string | ((before: ValkeyClusterStatus | undefined, now: ValkeyClusterStatus) => string);
}

const becomes =
  (type: string): Turn["when"] =>
  (before, now) =>
    !isTrue(before, type) && isTrue(now, type);

function failoverTurns(
  before: ValkeyClusterStatus | undefined,
  { failover }: ValkeyClusterStatus,
  phase: "Done" | "Failed",
): boolean {
  return failover?.phase === phase && !(before?.failover?.id === failover.id && before.failover.phase === phase);
}

/** What a rolling change waits for and no moment brings. */
function lastingHold(status: ValkeyClusterStatus | undefined): string | undefined {
  return status?.holds?.find(({ predicate }) => LASTING_HOLDS.has(predicate))?.message;
}

const TURNS: readonly Turn[] = [
  {
    type: "Normal",
    reason: "Created",
    action: "Create",
    note: "making the objects of the cluster",
    when: (before) => before?.phase === undefined,
  },
  {
    type: "Normal",
    reason: "Formed",
    action: "Form",
    note: "all slots are served",
    when: (before, now) => (before?.slotsAssigned ?? 0) < SLOTS && now.slotsAssigned === SLOTS,
  },
  { type: "Normal", reason: "Ready", action: "Observe", when: becomes("Ready") },
  { type: "Warning", reason: "Degraded", action: "Observe", when: becomes("Degraded") },
  {
    type: "Normal",
    reason: "RollingChange",
    action: "Replace",
    when: (before, now) => before?.rollout === undefined && now.rollout !== undefined,
    note: (_before, { rollout }) =>
      `pods are replaced one after the other for: ${rollout?.changes ?? "their template"}`,
  },
  {
    type: "Normal",
    reason: "RollingChangeDone",
    action: "Replace",
    when: (before, now) => before?.rollout !== undefined && now.rollout === undefined && now.phase === "Running",
    note: (before) => `all ${before?.rollout?.pods ?? ""} pods are as the spec asks`,
  },
  {
    type: "Warning",
    reason: "RollingChangeHeld",
    action: "Replace",
    when: (before, now) => lastingHold(before) === undefined && lastingHold(now) !== undefined,
    note: (_before, now) => lastingHold(now) ?? "",
  },
  {
    type: "Normal",
    reason: "FailedOver",
    action: "HandOver",
    when: (before, now) => failoverTurns(before, now, "Done"),
    note: (_before, { failover }) => failover?.message ?? "",
  },
  {
    type: "Warning",
    reason: "FailoverFailed",
    action: "HandOver",
    when: (before, now) => failoverTurns(before, now, "Failed"),
    note: (_before, { failover }) => `shard ${failover?.shard}: ${failover?.message}`,
  },
  {
    type: "Normal",
    reason: "Suspended",
    action: "Suspend",
    when: (before, now) => before?.phase !== "Suspended" && now.phase === "Suspended",
  },
];

function turns(before: ValkeyClusterStatus | undefined, now: ValkeyClusterStatus): readonly Told[] {
  return TURNS.filter(({ when }) => when(before, now)).map(({ type, reason, action, note = now.message ?? "" }) => ({
    type,
    reason,
    action,
    note: typeof note === "string" ? note : note(before, now),
  }));
}
