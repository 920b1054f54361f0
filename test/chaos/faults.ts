/** The faults of chaos: each is done, lasts as long as it should, is undone, and tells what it may have cost. */
import { kubectl } from "../e2e/cluster.ts";
import { type ClusterRef, SMALL } from "../e2e/clusters.ts";
import { restartsOf, serverProcesses } from "../e2e/heal-lab.ts";
import type { Member } from "../e2e/heal-members.ts";
import { restartOperator } from "../e2e/install.ts";
import { settledPair } from "../e2e/operator.ts";
import * as lab from "../lab/faults.ts";
import { kill } from "../lab/host.ts";
import { cutOff, died, type LossWindow, type Moment, moment } from "../lib/losses.ts";
import { until } from "../lib/until.ts";
import type { Act, Kind } from "./schedule.ts";
import { anotherSize } from "./sizes.ts";
import type { Stage } from "./stage.ts";

/** How long a pod's processes may run on after it was deleted by force: until kubelet has heard of it. */
const KUBELET_MS = 5000;

/** Pod after pod, each waited for; faults may go on beside it. */
const ROLL_MS = 240_000;

export interface Happening {
  /** For people: what was done to whom. */
  readonly what: string;
  readonly windows: readonly LossWindow[];
}

type Fault = (stage: Stage, act: Act) => Promise<Happening>;

export const FAULTS: Readonly<Record<Kind, Fault>> = {
  crash: async (stage, { shard }) => crash(stage, await stage.cluster.primary(shard)),
  "crash-replica": async (stage, act) => crash(stage, await replicaOf(stage, act)),
  "crash-without-api": async (stage, act) => {
    const primary = await stage.cluster.primary(act.shard);
    const pids = await serverProcesses(stage.lab, stage.cluster, primary.pod);
    const bringBack = await lab.stopApiServer(stage.lab);
    const killed = await killAll(pids);
    await lasts(act, bringBack);
    return {
      what: `${role(primary)} killed while the API server was away${seconds(act)}`,
      windows: [died([act.shard], killed, "crash")],
    };
  },
  "kill-agent": async (stage, act) => {
    const { pod } = someone(await stage.cluster.members(), act);
    const restarts = async () => (await restartsOf(stage.cluster, pod)).agent;
    const before = await restarts();
    await lab.killContainer(stage.lab, stage.cluster.container(pod, "agent"));
    // What may happen to a server without its agent is not promised: the next fault waits for it.
    await until("the agent is restarted", async () => (await restarts()) > before, { timeoutMs: 120_000 });
    return harmless(`agent of ${pod} killed`);
  },
  freeze: async (stage, act) => {
    const primary = await stage.cluster.primary(act.shard);
    const { value: thaw, ...frozen } = await moment(() =>
      lab.freezeContainer(stage.lab, stage.cluster.container(primary.pod, "valkey")),
    );
    await lasts(act, thaw);
    return { what: `${role(primary)} frozen${seconds(act)}`, windows: [died([act.shard], frozen, "frozen")] };
  },
  delete: async (stage, act) => {
    const member = someone(await stage.cluster.members(), act);
    await stage.deletePod(member);
    return harmless(`${role(member)} deleted with grace`);
  },
  "force-delete": async (stage, act) => {
    const member = someone(await stage.cluster.members(), act);
    const { begun, done } = await moment(() => stage.deletePod(member, "--grace-period=0", "--force"));
    const gone = { begun, done: done + KUBELET_MS };
    return { what: `${role(member)} deleted by force`, windows: [died(shardsOf([member]), gone, "forced")] };
  },
  cut: async (stage, act) => {
    const { node, members } = await someNode(stage, act);
    const { value: mend, ...cut } = await moment(() => lab.cutNode(stage.lab, lab.nodeNamed(stage.lab, node)));
    await lasts(act, mend);
    return {
      what: `${node} cut off${seconds(act)} (${roles(members)})`,
      windows: [cutOff(shardsOf(members), cut, "cut")],
    };
  },
  "power-cut": async (stage, act) => {
    const { node, members } = await someNode(stage, act);
    for (const { uid } of members) stage.copies.ours(uid);
    await stage.leaves(node);
    const { value: powerOn, ...cut } = await moment(() => lab.powerCutNode(stage.lab, lab.nodeNamed(stage.lab, node)));
    await lasts(act, powerOn);
    stage.returned(node);
    return {
      what: `power of ${node} cut${seconds(act)} (${roles(members)})`,
      windows: [died(shardsOf(members), cut, "power cut")],
    };
  },
  "lossy-link": async (stage, act) => {
    const lossPercent = 2 + (act.choice % 9);
    const { node } = await someNode(stage, act);
    await lasts(act, await lab.troubleLink(lab.nodeNamed(stage.lab, node), { lossPercent }));
    return harmless(`${node} loses ${lossPercent} % of its packets${seconds(act)}`);
  },
  load: async (_stage, act) => {
    const busy = [1, 2, 3, 4].map(() => Bun.spawn(["sh", "-c", "while :; do :; done"]));
    await lasts(act, async () => {
      for (const child of busy) child.kill("SIGKILL");
    });
    return harmless(`four processes take all they can get${seconds(act)}`);
  },
  "api-server-away": async (stage, act) => {
    await lasts(act, await lab.stopApiServer(stage.lab));
    return harmless(`API server away${seconds(act)}`);
  },
  "operator-killed": async (_stage, act) => {
    if (act.choice % 2 === 0) {
      await restartOperator();
      return harmless("operator restarted");
    }
    const { leader } = await settledPair();
    await kubectl(["delete", "pod", "-n", "valkey-operator-system", leader.name, "--grace-period=0", "--force"]);
    return harmless("leading operator killed");
  },
  setting: async ({ cluster: { ref } }, act) => {
    const spec = { config: { "hash-max-listpack-entries": String(64 + (act.choice % 64)) } };
    await kubectl(["patch", "vc", ref.name, "-n", ref.namespace, "--type=merge", "-p", JSON.stringify({ spec })]);
    return harmless("a setting changed");
  },
  roll: async ({ cluster }, act) => {
    const { ref } = cluster;
    const before = new Set((await cluster.members()).map(({ uid }) => uid));
    const limits = { memory: `${anotherSize(await memoryLimit(ref), act.choice)}Mi` };
    const spec = { resources: { ...SMALL.resources, limits } };
    await kubectl(["patch", "vc", ref.name, "-n", ref.namespace, "--type=merge", "-p", JSON.stringify({ spec })]);
    const renewed = async () => (await cluster.members()).every(({ uid }) => !before.has(uid));
    await until("every pod was replaced", renewed, { timeoutMs: ROLL_MS, everyMs: 500 });
    return harmless("every pod replaced for other resources");
  },
};

async function memoryLimit({ namespace, name }: ClusterRef): Promise<number> {
  const path = "jsonpath={.spec.resources.limits.memory}";
  return Number.parseInt(await kubectl(["get", "vc", name, "-n", namespace, "-o", path]), 10);
}

async function crash(stage: Stage, member: Member): Promise<Happening> {
  const pids = await serverProcesses(stage.lab, stage.cluster, member.pod);
  const killed = await killAll(pids);
  return { what: `${role(member)} killed`, windows: [died(shardsOf([member]), killed, "crash")] };
}

/** Found beforehand: what is lost in the time of looking for them is not excused. */
async function killAll(pids: readonly number[]): Promise<Moment> {
  return moment(async () => {
    for (const pid of pids) kill(pid, "SIGKILL");
  });
}

/** A fault has a length; what is waited for afterwards is the cluster. */
async function lasts({ lastsMs }: Act, undo: () => Promise<void>): Promise<void> {
  try {
    await Bun.sleep(lastsMs);
  } finally {
    await undo();
  }
}

function harmless(what: string): Happening {
  return { what, windows: [] };
}

function someone(members: readonly Member[], { choice }: Act): Member {
  const chosen = members[choice % members.length];
  if (chosen === undefined) throw new Error("a cluster has members");
  return chosen;
}

async function replicaOf(stage: Stage, act: Act): Promise<Member> {
  const members = await stage.cluster.members();
  return someone(
    members.filter(({ shard, role }) => shard === act.shard && role !== "primary"),
    act,
  );
}

async function someNode(stage: Stage, { choice }: Act): Promise<{ node: string; members: readonly Member[] }> {
  const node = `node${choice % stage.lab.nodes.length}`;
  return { node, members: (await stage.cluster.members()).filter((one) => one.node === node) };
}

/** The shards that these lead. */
function shardsOf(members: readonly Member[]): number[] {
  return members.filter(({ role }) => role === "primary").map(({ shard }) => shard);
}

function role(member: Member): string {
  return `${member.role} ${member.pod}`;
}

function roles(members: readonly Member[]): string {
  return members.map(role).join(", ") || "no member of the cluster";
}

function seconds({ lastsMs }: Act): string {
  return ` for ${(lastsMs / 1000).toFixed(1)} s`;
}
