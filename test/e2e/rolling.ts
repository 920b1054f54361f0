/** Rolling changes as tests wait for them. */
import type { ValkeyCluster } from "../../pkg/api/cluster.ts";
import { kubectl } from "./cluster.ts";
import { type ClusterRef, clusterAt, clusterWhere, holds, podsOf } from "./clusters.ts";

export const PATIENCE = { timeoutMs: 240_000 };

export async function changeSpec({ namespace, name }: ClusterRef, spec: object): Promise<void> {
  await kubectl(["patch", "vc", name, "-n", namespace, "--type=merge", "-p", JSON.stringify({ spec })]);
}

export async function uidsOf(ref: ClusterRef): Promise<readonly (string | undefined)[]> {
  return (await podsOf(ref)).map(({ metadata }) => metadata.uid);
}

/** Until nothing is left to be changed, for the newest spec, and every pod is another than before. */
export async function rolledOver(ref: ClusterRef, before: readonly (string | undefined)[]): Promise<ValkeyCluster> {
  return clusterWhere(ref, "has new pods only", isDone, PATIENCE).then(async (cluster) => {
    const now = await uidsOf(ref);
    const old = now.filter((uid) => before.includes(uid));
    // The status may still tell of the time before the operator has seen the change.
    return old.length === 0 ? cluster : rolledOver(ref, before);
  });
}

export function isDone(cluster: ValkeyCluster): boolean {
  return holds(cluster, "Ready") && cluster.status?.phase === "Running" && cluster.status.rollout === undefined;
}

/** Until a hold of this name says this. */
export async function heldBy(ref: ClusterRef, predicate: string, words: string): Promise<void> {
  const says = ({ status }: ValkeyCluster) =>
    status?.holds?.some((one) => one.predicate === predicate && one.message.includes(words)) === true;
  await clusterWhere(ref, `is held by ${predicate}: ${words}`, says, PATIENCE);
}

/** What agents said of their handovers, for whoever reads the test's output. */
export async function handoversOf({ namespace, name }: ClusterRef): Promise<string> {
  const told = `jsonpath={range .items[?(@.reason=="HandedOver")]}{.involvedObject.name}: {.message}{"\\n"}{end}`;
  const lines = (await kubectl(["get", "events", "-n", namespace, "-o", told])).split("\n");
  return lines.filter((line) => line.startsWith(`${name}: `)).join("; ");
}

export async function primariesOf(ref: ClusterRef): Promise<readonly (string | undefined)[]> {
  return ((await clusterAt(ref)).status?.shards ?? []).map(({ primary }) => primary);
}
