/** What the files about healing have in common: the lab, the operator on it, a namespace, faults by the name of a pod. */
import * as faults from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { kubectl, onLab, theLab } from "./cluster.ts";
import { podsOf } from "./clusters.ts";
import type { HealCluster } from "./heal-cluster.ts";
import type { Member } from "./heal-members.ts";
import { installOperator, OPERATOR_NAMESPACE } from "./install.ts";
import { operatorPods } from "./operator.ts";

/** Faults are done to the lab alone, never to a cluster that somebody has. */
export const WITHOUT_LAB = !onLab;

/** Making the operator run and a cluster healthy, at most. */
export const PREPARATION_MS = 600_000;

export async function openHealLab(): Promise<Lab> {
  const lab = await theLab();
  if (lab === undefined) throw new Error("no lab");
  await installOperator();
  return lab;
}

export async function makeNamespace(prefix: string): Promise<string> {
  const namespace = `${prefix}-${crypto.randomUUID().slice(0, 6)}`;
  await kubectl(["create", "namespace", namespace]);
  return namespace;
}

export async function removeNamespace(namespace: string): Promise<void> {
  await kubectl(["delete", "namespace", namespace, "--wait=false"]);
}

export async function forceDelete(cluster: HealCluster, ...pods: readonly string[]): Promise<void> {
  await kubectl(["delete", "pod", "-n", cluster.ref.namespace, ...pods, "--grace-period=0", "--force"]);
}

/** Server processes, to be signalled later by number: finding them takes the API server, which may be away then. */
export async function serverProcesses(lab: Lab, cluster: HealCluster, pod: string): Promise<number[]> {
  return faults.containerProcesses(lab, cluster.container(pod, "valkey"));
}

/** Stops every operator where it stands. */
export async function freezeOperators(lab: Lab): Promise<faults.Heal> {
  const heals = await Promise.all(
    (await operatorPods()).map(({ name }) =>
      faults.freezeContainer(lab, { namespace: OPERATOR_NAMESPACE, pod: name, container: "operator" }),
    ),
  );
  return async () => {
    for (const heal of heals) await heal();
  };
}

/** How many primaries each Kubernetes Node has. */
export function primariesByNode(members: readonly Member[]): ReadonlyMap<string, readonly Member[]> {
  return Map.groupBy(
    members.filter(({ role }) => role === "primary"),
    ({ node }) => node,
  );
}

/**
 * A primary that is alone on its Node: with a majority of the primaries cut off nobody could be elected, which is
 * another case. When there is none, roles are moved by deleting a primary's pod with grace.
 */
export async function lonePrimary(cluster: HealCluster): Promise<Member> {
  for (;;) {
    const counts = primariesByNode(await cluster.healthy());
    const [lone] = [...counts.values()].filter(({ length }) => length === 1).flat();
    if (lone !== undefined) return lone;
    const [crowded] = [...counts.values()].flat();
    if (crowded === undefined) throw new Error("a healthy cluster has primaries");
    await kubectl(["delete", "pod", "-n", cluster.ref.namespace, crowded.pod]);
    await cluster.replaced(crowded);
  }
}

interface Restarts {
  readonly agent: number;
  readonly valkey: number;
}

/** How often kubelet has restarted the containers of a pod. */
export async function restartsOf(cluster: HealCluster, name: string): Promise<Restarts> {
  const pod = (await podsOf(cluster.ref)).find(({ metadata }) => metadata.name === name);
  const all = [...(pod?.status.containerStatuses ?? []), ...(pod?.status.initContainerStatuses ?? [])];
  const of = (container: string) => all.find((one) => one.name === container)?.restartCount ?? 0;
  return { agent: of("agent"), valkey: of("valkey") };
}
