/**
 * The machines that played pods are bound to: Nodes without a kubelet, kept alive by their Leases, tainted so that
 * nothing else comes to them. The addresses of their pods are all this host's own; pods of the lab reach them by the
 * nodes' default route.
 */
import type { KubeClient } from "../../pkg/kube/client.ts";
import { LEASES, NODES } from "../../pkg/kube/resource.ts";
import { run } from "../../scripts/lib.ts";

const RANGE = "10.200.0.0/16";
/** Third numbers of the addresses of one share of the fleet. */
const PER_SHARE = 16;
const PER_NUMBER = 250;
export const MOST_SHARES = 256 / PER_SHARE;

const PLAYED = "bench.valkey.io/played";
const MACHINES = ["played-0", "played-1", "played-2"] as const;
const RENEW_MS = 5000;
const MANAGER = { fieldManager: "fleet-memory", force: true } as const;

/** Of the n-th pod of a share. */
export function addressOf(share: number, n: number): string {
  const third = Math.floor(n / PER_NUMBER);
  if (third >= PER_SHARE) throw new RangeError(`a share has addresses for ${PER_SHARE * PER_NUMBER} pods, not more`);
  return `10.200.${share * PER_SHARE + third}.${1 + (n % PER_NUMBER)}`;
}

/** What a cluster's spec says to be played. */
export const PLAYED_SPEC = {
  nodeSelector: { [PLAYED]: "true" },
  tolerations: [{ key: PLAYED, operator: "Exists" }],
} as const;

/** Lets this host, the lab's control host, have all the addresses. */
export async function routeToPlayed(): Promise<void> {
  await run(["ip", "route", "replace", "local", RANGE, "dev", "lo"]);
}

/** Gives the way to let them die. */
export async function startMachines(client: KubeClient): Promise<() => void> {
  for (const [index, name] of MACHINES.entries()) {
    await client.apply(NODES, { metadata: { name, labels: labelsOf(name, index) }, spec: SPEC }, MANAGER);
    await renew(client, name);
    await client.patch(NODES, { name }, { type: "merge", body: { status: statusNow() } }, { subresource: "status" });
  }
  const timer = setInterval(() => {
    for (const name of MACHINES) {
      renew(client, name).catch((error: unknown) => {
        process.stderr.write(`  the Lease of ${name} was not renewed: ${String(error)}\n`);
      });
    }
  }, RENEW_MS);
  return () => clearInterval(timer);
}

function labelsOf(name: string, index: number) {
  return {
    [PLAYED]: "true",
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    "topology.kubernetes.io/zone": `zone-${index}`,
  };
}

const SPEC = { taints: [{ key: PLAYED, value: "true", effect: "NoSchedule" }] };
const ROOM = { cpu: "10k", memory: "10Ti", pods: "10k", "ephemeral-storage": "10Ti" };

function statusNow() {
  const now = new Date().toISOString();
  const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "it is played" };
  return {
    capacity: ROOM,
    allocatable: ROOM,
    conditions: [{ ...ready, lastHeartbeatTime: now, lastTransitionTime: now }],
  };
}

/** As a kubelet says that it lives. */
async function renew(client: KubeClient, name: string): Promise<void> {
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime };
  await client.apply(LEASES, { metadata: { namespace: "kube-node-lease", name }, spec }, MANAGER);
}
