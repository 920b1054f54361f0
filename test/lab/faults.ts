/**
 * What can go wrong in a cluster, made to happen for real: every fault is a function with a way back. Those that undo
 * themselves return the function that heals them; a test calls it in a `finally`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { run, Trouble } from "../../scripts/lib.ts";
import { processesOfContainer } from "./cgroup.ts";
import { controlHost, renewControllers, startApiServer, waitForApiServer } from "./control-plane.ts";
import { inNetwork, kill, onHost, powerOff, powerOn, processesNamed, until } from "./host.ts";
import { kubectl, type Lab } from "./lab.ts";
import { portOf, wireNode } from "./network.ts";
import { type LabNode, startContainerd, startKubelet } from "./node.ts";

export type Heal = () => Promise<void>;

export function nodeNamed(lab: Lab, name: string): LabNode {
  const node = lab.nodes.find(({ index }) => `node${index}` === name);
  if (node === undefined)
    throw new Trouble(`no node is named ${name}: there are ${lab.nodes.map((one) => `node${one.index}`).join(", ")}`);
  return node;
}

/** Pulls a node's cable: nothing reaches it or leaves it, while all on it runs on. */
export async function cutNode(lab: Lab, node: LabNode): Promise<Heal> {
  const link = async (state: "up" | "down") => {
    await run([...inNetwork(lab.control), "ip", "link", "set", portOf(node.index), state]);
  };
  await link("down");
  return () => link("up");
}

/** Ends everything on a node at once, as a power cut does. What was on its disks stays. */
export async function powerCutNode(lab: Lab, node: LabNode): Promise<Heal> {
  await powerOff(node.name);
  return () => restartNode(lab, node);
}

/** Powers a node on again: a new network, new processes, the old disks. */
export async function restartNode(lab: Lab, node: LabNode): Promise<void> {
  await wireNode(lab.lab, node.index);
  await powerOn(node);
  await startContainerd(node);
  await startKubelet(node);
}

export interface LinkTrouble {
  /** Delay of every packet that leaves the node. Needs netem in the kernel. */
  readonly latencyMs?: number;
  /** Share of the packets that leave the node and are lost, 0 to 100. */
  readonly lossPercent?: number;
}

/** Makes a node's link slow or lossy. Loss works everywhere; latency needs the kernel's netem (see hasNetem). */
export async function troubleLink(node: LabNode, trouble: LinkTrouble): Promise<Heal> {
  const undo: Heal[] = [];
  if (trouble.latencyMs !== undefined) undo.push(await delay(node, trouble.latencyMs));
  if (trouble.lossPercent !== undefined) undo.push(await lose(node, trouble.lossPercent));
  return async () => {
    for (const heal of undo.toReversed()) await heal();
  };
}

/** Whether the kernel can delay packets. */
export async function hasNetem(node: LabNode): Promise<boolean> {
  const probe = delay(node, 1);
  return probe.then((heal) => heal().then(() => true)).catch(() => false);
}

async function delay(node: LabNode, ms: number): Promise<Heal> {
  const tc = (...words: string[]) => run([...inNetwork(node.name), "tc", "qdisc", ...words]);
  await tc("add", "dev", "eth0", "root", "netem", "delay", `${ms}ms`).catch((error: unknown) => {
    throw new Trouble(`this kernel cannot delay packets: load sch_netem, or use loss instead (${String(error)})`);
  });
  return async () => void (await tc("del", "dev", "eth0", "root"));
}

async function lose(node: LabNode, percent: number): Promise<Heal> {
  const chance = (percent / 100).toFixed(4);
  const match = ["-m", "statistic", "--mode", "random", "--probability", chance, "-j", "DROP"];
  const rules = ["OUTPUT", "FORWARD"].map((chain) => [chain, "-o", "eth0", ...match]);
  const iptables = (action: string, rule: readonly string[]) =>
    run([...inNetwork(node.name), "iptables", "-w", "5", action, ...rule]);
  for (const rule of rules) await iptables("-I", rule);
  return async () => {
    for (const rule of rules) await iptables("-D", rule);
  };
}

export interface ContainerRef {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** The processes of a running container, in this machine's numbering. */
export async function containerProcesses(lab: Lab, ref: ContainerRef): Promise<number[]> {
  const pod = JSON.parse(await kubectl(lab, ["get", "pod", "-n", ref.namespace, ref.pod, "-o", "json"])) as PodShape;
  const statuses = [...(pod.status.containerStatuses ?? []), ...(pod.status.initContainerStatuses ?? [])];
  const id = statuses.find(({ name }) => name === ref.container)?.containerID?.split("//")[1];
  if (id === undefined) throw new Trouble(`pod ${ref.namespace}/${ref.pod} has no running container ${ref.container}`);
  return processesOfContainer(nodeNamed(lab, pod.spec.nodeName ?? "").name, id);
}

interface ContainerStatusShape {
  readonly name: string;
  readonly containerID?: string;
}

interface PodShape {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly containerStatuses?: readonly ContainerStatusShape[];
    readonly initContainerStatuses?: readonly ContainerStatusShape[];
  };
}

/** Sends a signal to every process of a container: SIGKILL is a crash that kubelet sees and restarts. */
export async function killContainer(lab: Lab, ref: ContainerRef, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
  const pids = await containerProcesses(lab, ref);
  if (pids.length === 0) throw new Trouble(`no process runs in ${ref.namespace}/${ref.pod} ${ref.container}`);
  for (const pid of pids) kill(pid, signal);
}

/** Stops every process of a container where it stands; it keeps its memory and its connections. */
export async function freezeContainer(lab: Lab, ref: ContainerRef): Promise<Heal> {
  const pids = await containerProcesses(lab, ref);
  for (const pid of pids) kill(pid, "SIGSTOP");
  return async () => {
    for (const pid of pids) kill(pid, "SIGCONT");
  };
}

function apiServerProcesses(lab: Lab): number[] {
  return processesNamed(lab.control, "kube-apiserver");
}

/**
 * A dying process loses its command line first and its ports last, with its last thread. What is left then is a zombie,
 * perhaps for long: the parent of one that was frozen once is stopped with it and reaps nobody.
 */
function hasEnded(pid: number): boolean {
  try {
    const state = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.[0];
    return state === "Z" && readdirSync(`/proc/${pid}/task`).length === 1;
  } catch {
    return true; // Not even a zombie is left.
  }
}

/** Kills the API server; it comes back with `heal`. */
export async function stopApiServer(lab: Lab): Promise<Heal> {
  const pids = apiServerProcesses(lab);
  for (const pid of pids) kill(pid, "SIGKILL");
  await until("the API server to be gone", 10_000, () => pids.every(hasEnded));
  return async () => {
    startApiServer(controlHost(lab, lab.bin), join(lab.home, "pki"));
    await waitForApiServer(lab, lab.bin);
    renewControllers(lab);
  };
}

export async function restartApiServer(lab: Lab): Promise<void> {
  const heal = await stopApiServer(lab);
  await heal();
}

/** The API server keeps its connections and answers nothing. */
export async function freezeApiServer(lab: Lab): Promise<Heal> {
  const pids = apiServerProcesses(lab);
  for (const pid of pids) kill(pid, "SIGSTOP");
  return async () => {
    for (const pid of pids) kill(pid, "SIGCONT");
  };
}

export interface SmallVolume {
  /** A PersistentVolume of this name and StorageClass, which a claim of that class binds to. */
  readonly name: string;
  readonly storageClassName: string;
  /** Takes all the room that is left; healing gives it back. */
  readonly fill: () => Promise<Heal>;
  readonly remove: Heal;
}

export interface SmallVolumeOptions {
  readonly mebibytes: number;
  /** Several may be of one. Defaults to one of its own. */
  readonly storageClassName?: string;
}

/** A volume on one node so small that a test can fill it: a disk that is full is a tmpfs that is. */
export async function smallVolume(lab: Lab, node: LabNode, options: SmallVolumeOptions): Promise<SmallVolume> {
  const name = `small-${crypto.randomUUID().slice(0, 8)}`;
  const { mebibytes, storageClassName = name } = options;
  const path = join("/run/vk-lab", name);
  const sh = (script: string) => run([...onHost(node.name), "sh", "-ec", script]);
  await sh(`mkdir ${path} && mount -t tmpfs -o size=${mebibytes}m,mode=777 tmpfs ${path}`);
  await kubectl(
    lab,
    ["apply", "-f", "-"],
    JSON.stringify(localVolume({ name, path, mebibytes, storageClassName, node: `node${node.index}` })),
  );
  return {
    name,
    storageClassName,
    fill: async () => {
      const filler = join(path, "filler");
      // What fits was written when it fails.
      await sh(`cat /dev/zero > ${filler} || true`);
      return async () => void (await sh(`rm ${filler}`));
    },
    remove: async () => {
      await kubectl(lab, ["delete", "pv", name, "--ignore-not-found", "--wait=false"]);
      await run([...onHost(node.name), "umount", "--lazy", path]);
    },
  };
}

interface LocalVolume {
  readonly name: string;
  readonly path: string;
  readonly mebibytes: number;
  readonly storageClassName: string;
  readonly node: string;
}

function localVolume({ name, path, mebibytes, storageClassName, node }: LocalVolume): object {
  const hostname = { key: "kubernetes.io/hostname", operator: "In", values: [node] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: `${mebibytes}Mi` },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      storageClassName,
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [hostname] }] } },
    },
  };
}
