/** What strangers changed of a cluster's objects and was put back: told once, shown for a while. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ApplyOutcome } from "../../kube/apply.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { type KubeObject, keyOf } from "../../kube/resource.ts";
import type { DriftNow } from "../../plan/cluster/view.ts";
import type { DesiredObject } from "../../plan/objects/types.ts";
import { Obstacle } from "../node/act.ts";
import { subjectOf } from "./subject.ts";

export class Drifts {
  readonly #recorder: Pick<EventRecorder, "record">;
  readonly #drifts = new Map<string, DriftNow>();
  /** Objects that this leader has seen: one that is missing then was taken away by somebody. */
  readonly #seen = new Map<string, Set<string>>();

  constructor(recorder: Pick<EventRecorder, "record">) {
    this.#recorder = recorder;
  }

  of(key: string): DriftNow | undefined {
    return this.#drifts.get(key);
  }

  forget(key: string): void {
    this.#drifts.delete(key);
    this.#seen.delete(key);
  }

  /** Throws an Obstacle for what the user has to remove. */
  judge(cluster: ValkeyCluster, object: DesiredObject, outcome: ApplyOutcome<KubeObject>, now: Date): void {
    const what = `${object.kind} ${object.metadata.name}`;
    const existed = this.#note(keyOf(cluster), what, outcome);
    switch (outcome.did) {
      case "nothing":
      case "change":
      case "terminating":
        return;
      case "create":
        if (existed) this.#drifted(cluster, `${what} was deleted by somebody else and was made again`, now);
        return;
      case "repair":
        return this.#drifted(cluster, `${what} had ${outcome.path} changed by somebody else; it was put back`, now);
      case "contested":
        this.#drifted(cluster, `${what} has ${outcome.path} changed by somebody else again and again`, now);
        throw new Obstacle(
          `${what}: somebody changes ${outcome.path} again and again; it is put back in ${Math.ceil(outcome.retryInMs / 1000)} s. Find out who does it, and change the ValkeyCluster instead`,
        );
      case "foreign":
        throw new Obstacle(`${what} is in the way, and ${outcome.why}: it was left as it is. Remove or rename it`);
    }
  }

  #note(key: string, what: string, { did }: ApplyOutcome<KubeObject>): boolean {
    const seen = this.#seen.get(key) ?? new Set<string>();
    this.#seen.set(key, seen);
    const existed = seen.has(what);
    if (did !== "foreign" && did !== "terminating") seen.add(what);
    return existed;
  }

  #drifted(cluster: ValkeyCluster, what: string, at: Date): void {
    this.#drifts.set(keyOf(cluster), { what, at });
    const note = `${what}; to change it, edit ValkeyCluster ${cluster.metadata.name}`;
    this.#recorder.record({
      regarding: subjectOf(cluster),
      type: "Warning",
      reason: "DriftRepaired",
      action: "Repair",
      note,
    });
  }
}
