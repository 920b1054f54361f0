/**
 * Deleting a cluster. Whatever is already gone or going is left alone, so it makes no difference who began: we, the
 * garbage collector (propagation Foreground), or the namespace. Nothing is created on the way, and no wait is without an
 * end, so that a namespace can always be deleted.
 */
import type { Hold } from "./hold.ts";
import { planStop, type ServerNow, type StopStep } from "./stop.ts";

/** On every ValkeyCluster that the operator has seen. */
export const FINALIZER = "valkey.io/cluster-cleanup";
/** With the value "true" a ValkeyCluster may not be deleted. */
export const PROTECTION_ANNOTATION = "valkey.io/deletion-protection";
/** The garbage collector's, for `--cascade=orphan`. */
const ORPHAN_FINALIZER = "orphan";

const STOP_MS = 20_000;
const GONE_MS = 300_000;
const LOOK_MS = 5000;

export interface DeletionView {
  readonly cluster: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly deletionTimestamp: string;
    readonly finalizers: readonly string[];
    readonly annotations: Readonly<Record<string, string>>;
  };
  /** The ValkeyNodes that carry the cluster's labels. */
  readonly nodes: readonly { readonly name: string; readonly ownerUid: string | undefined; readonly going: boolean }[];
  readonly servers: readonly ServerNow[];
  /** Pods that carry the cluster's labels, with their node. */
  readonly pods: readonly { readonly name: string; readonly node: string }[];
  /** Claims that carry the cluster's labels. */
  readonly claims: readonly { readonly name: string; readonly node: string; readonly going: boolean }[];
  readonly whenDeleted: "Retain" | "Delete";
}

export type DeletionStep =
  | StopStep
  | { readonly do: "delete-node"; readonly name: string; readonly lane: string }
  | { readonly do: "delete-claim"; readonly name: string; readonly lane: string }
  /** An event about the cluster. */
  | { readonly do: "tell"; readonly reason: "VolumesKept" | "ClusterOrphaned"; readonly note: string }
  | { readonly do: "remove-finalizer" };

export interface DeletionPlan {
  /** True: the cluster is protected and runs on as if nobody had deleted it; `steps` is empty. */
  readonly protected: boolean;
  readonly steps: readonly DeletionStep[];
  readonly holds: readonly Hold[];
  readonly requeueAfterMs?: number | undefined;
}

export function isProtected(annotations: Readonly<Record<string, string>> | undefined): boolean {
  return annotations?.[PROTECTION_ANNOTATION] === "true";
}

export function planDeletion(view: DeletionView, now: Date): DeletionPlan {
  const { cluster, nodes } = view;
  if (isProtected(cluster.annotations) && untouched(nodes)) return held(cluster);
  const left = leftAlone(view);
  const ours = nodes.filter(({ name }) => !left.has(name));
  const age = now.getTime() - Date.parse(cluster.deletionTimestamp);
  const running = ours.filter(({ going }) => !going);
  if (running.length > 0) return away(view, running, age, now);
  const pods = view.pods.filter(({ node }) => !left.has(node));
  if (age < GONE_MS && ours.length + pods.length > 0) return waiting("pods-going", pods.length, "pod");
  const claims = view.claims.filter(({ node }) => !left.has(node));
  const volumes = fateOf(view) === "Delete" ? claimsAway(claims, age) : undefined;
  return volumes ?? { protected: false, steps: [...tellings(view, left), { do: "remove-finalizer" }], holds: [] };
}

/** Others may take a protected cluster apart, but its data is not ours to delete then. */
function fateOf({ cluster, whenDeleted }: DeletionView): DeletionView["whenDeleted"] {
  return isProtected(cluster.annotations) ? "Retain" : whenDeleted;
}

function untouched(nodes: DeletionView["nodes"]): boolean {
  return nodes.length > 0 && nodes.every(({ going }) => !going);
}

/**
 * The nodes that whoever deleted the cluster wants to keep. The garbage collector takes our reference off them and then
 * its finalizer off the cluster, so that either may be seen without the other.
 */
function leftAlone({ cluster, nodes }: DeletionView): ReadonlySet<string> {
  const orphaned = cluster.finalizers.includes(ORPHAN_FINALIZER);
  return new Set(nodes.filter(({ ownerUid }) => orphaned || ownerUid !== cluster.uid).map(({ name }) => name));
}

function claimsAway(claims: DeletionView["claims"], age: number): DeletionPlan | undefined {
  const steps = claims
    .filter(({ going }) => !going)
    .map(({ name }) => ({ do: "delete-claim", name, lane: name }) as const);
  if (steps.length > 0) return { protected: false, steps, holds: [], requeueAfterMs: LOOK_MS };
  return age < GONE_MS && claims.length > 0 ? waiting("claims-going", claims.length, "volume") : undefined;
}

/** Servers save and stop first, if their agents answer in time; then their nodes go, and with these the rest. */
function away(view: DeletionView, running: readonly { readonly name: string }[], age: number, now: Date): DeletionPlan {
  const names = new Set(running.map(({ name }) => name));
  const open = view.servers.filter(({ node }) => names.has(node));
  const stop = planStop(open, { save: fateOf(view) === "Retain", now });
  const overdue = age >= STOP_MS;
  const ready = running.filter(({ name }) => overdue || stop.down.has(name) || !open.some(({ node }) => node === name));
  const stops = overdue ? [] : stop.steps;
  const deletes = ready.map(({ name }) => ({ do: "delete-node", name, lane: name }) as const);
  return {
    protected: false,
    steps: [...stops, ...deletes],
    holds: overdue ? [] : stop.holds,
    requeueAfterMs: overdue ? LOOK_MS : Math.max(1000, Math.min(LOOK_MS, STOP_MS - age)),
  };
}

function waiting(name: string, count: number, what: string): DeletionPlan {
  const left = count === 0 ? "what is left of the nodes" : `${count} ${what}${count === 1 ? "" : "s"}`;
  const reason = `waits until ${left} ${count === 1 || count === 0 ? "is" : "are"} gone; after ${GONE_MS / 60_000} minutes the deletion goes on without`;
  return { protected: false, steps: [], holds: [{ name, reason }], requeueAfterMs: LOOK_MS };
}

function tellings(view: DeletionView, left: ReadonlySet<string>): DeletionStep[] {
  const { name, namespace } = view.cluster;
  const selector = `valkey.io/cr=${name} -n ${namespace}`;
  const orphaned =
    left.size === 0
      ? []
      : [
          {
            do: "tell",
            reason: "ClusterOrphaned",
            note: `${count(left.size, "node")} of the cluster ${left.size === 1 ? "was" : "were"} left running, as asked for; apply the ValkeyCluster again to take them back, or end them with: kubectl delete valkeynode -l ${selector}`,
          } as const,
        ];
  const kept = view.claims.filter(({ node }) => !left.has(node)).map((claim) => claim.name);
  if (fateOf(view) === "Delete" || kept.length === 0) return orphaned;
  const shown = kept.slice(0, 6).join(", ") + (kept.length > 6 ? ` and ${kept.length - 6} more` : "");
  const note = `kept ${count(kept.length, "volume")} with their data: ${shown}; a ValkeyCluster of the same name and shape takes them again; to be rid of them: kubectl delete pvc -l ${selector}`;
  return [...orphaned, { do: "tell", reason: "VolumesKept", note }];
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

/**
 * The webhook refuses to delete a protected cluster. If it was away, the deletion is on record and cannot be taken back,
 * but nothing has to follow from it yet: the cluster runs on until somebody lifts the protection. When others take it
 * apart already (its namespace goes), holding on would only keep them from finishing.
 */
function held({ name, namespace }: DeletionView["cluster"]): DeletionPlan {
  const reason = `was deleted while the operator could not refuse it, and is protected: it runs on until the protection is lifted, and goes then. Lift it with: kubectl annotate valkeycluster ${name} -n ${namespace} ${PROTECTION_ANNOTATION}-. A deletion cannot be taken back: to keep the data, copy it to another cluster first.`;
  return { protected: true, steps: [], holds: [{ name: "deletion-protected", reason }] };
}
