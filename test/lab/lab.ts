/**
 * A real Kubernetes cluster on this machine: three nodes in three zones, each a host of its own in network, processes
 * and mounts, with the real control plane, kubelets, containerd, DNS and Service proxies.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { run, step, Trouble } from "../../scripts/lib.ts";
import { ensureBinaries } from "./binaries.ts";
import { hostsWithGroups } from "./cgroup.ts";
import * as control from "./control-plane.ts";
import { initOf, inNetwork, powerOff, powerOn, removeNetwork, until } from "./host.ts";
import { foreignImages, ownImages } from "./images.ts";
import { withLock } from "./lock.ts";
import { DEFAULT_LAB, type LabNames, labNames, NODE_COUNT, nodeHost } from "./names.ts";
import { wireControl, wireNode } from "./network.ts";
import { importImage, kubeletTrouble, type LabNode, labNode, startContainerd, startKubelet } from "./node.ts";
import { writePki } from "./pki.ts";
import { requireLab } from "./requirements.ts";

export interface Lab extends LabNames {
  readonly bin: string;
  readonly nodes: readonly LabNode[];
}

export async function openLab(name: string = DEFAULT_LAB): Promise<Lab> {
  const names = labNames(name);
  const bin = await ensureBinaries();
  const nodes = [...Array(NODE_COUNT).keys()].map((index) => labNode(names, bin, index));
  return { ...names, bin, nodes };
}

export interface UpOptions {
  /** Take a running lab down first. Defaults to false: a healthy one is used as it is, with our images loaded anew. */
  readonly fresh?: boolean;
}

/** Brings a lab up, or makes sure that the one that is up is healthy and holds this checkout's images. */
export async function up(name: string = DEFAULT_LAB, options: UpOptions = {}): Promise<Lab> {
  await requireLab();
  const lab = await openLab(name);
  const archives = [...(await foreignImages(lab.bin)), ...(await ownImages())];
  return withLock(lab.home, async () => {
    if (options.fresh !== true && (await isHealthy(lab))) {
      await step("load this checkout's images", () => load(lab, archives));
      return lab;
    }
    await takeDown(lab);
    await step(`lab "${name}" up`, () => bringUp(lab, archives));
    return lab;
  });
}

export async function down(name: string = DEFAULT_LAB): Promise<void> {
  const names = labNames(name);
  await withLock(names.home, () => step(`lab "${name}" down`, () => takeDown(names)));
}

async function bringUp(lab: Lab, archives: readonly string[]): Promise<void> {
  const pki = join(lab.home, "pki");
  await step("certificates and wires", async () => {
    await writePki(pki);
    await wireControl(lab.lab);
    for (const node of lab.nodes) await wireNode(lab.lab, node.index);
  });
  const host = control.controlHost(lab, lab.bin);
  const hold = step("control plane", async () => {
    await powerOn(host);
    control.startEtcd(host);
    control.startApiServer(host, pki);
    await control.waitForApiServer(lab, lab.bin);
    control.startControllers(host, pki);
    await control.startDnsAndProxy(host, pki);
    await applyBasics(lab);
  });
  const nodes = step("containerd and images on every node", async () => {
    await Promise.all(lab.nodes.map((node) => prepareNode(node, archives)));
  });
  await Promise.all([hold, nodes]);
  await step("nodes ready", async () => {
    for (const node of lab.nodes) await startKubelet(node);
    await until("all nodes to be Ready", 90_000, () => allNodesReady(lab)).catch(async (error: unknown) => {
      throw new Trouble(`${error instanceof Error ? error.message : String(error)}${await kubeletTrouble(lab.nodes)}`);
    });
  });
}

async function prepareNode(node: LabNode, archives: readonly string[]): Promise<void> {
  await powerOn(node);
  await startContainerd(node);
  for (const archive of archives) await importImage(node, archive);
}

/** Puts image archives on every node. */
export async function load(lab: Lab, archives: readonly string[]): Promise<void> {
  for (const archive of archives) {
    if (!existsSync(archive)) throw new Trouble(`no image archive at ${archive}: make one with npm run images`);
  }
  await Promise.all(
    lab.nodes.map(async (node) => {
      for (const archive of archives) await importImage(node, archive);
    }),
  );
}

/** Whether everything runs that a lab is made of. */
export async function isHealthy(lab: Lab): Promise<boolean> {
  if (lab.nodes.some((node) => initOf(node.name) === undefined) || initOf(lab.control) === undefined) return false;
  if (control.missingPrograms(lab).length > 0) return false;
  return (await control.apiServerReady(lab, lab.bin)) && (await allNodesReady(lab));
}

async function allNodesReady(lab: Lab): Promise<boolean> {
  const out = await kubectl(lab, [
    "get",
    "nodes",
    "-o",
    `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`,
  ]).catch(() => "");
  return out.split(" ").filter((status) => status === "True").length === NODE_COUNT;
}

/** What every cluster has: the proxy's rights and a default StorageClass. */
async function applyBasics(lab: Lab): Promise<void> {
  const objects = [
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "kube-proxy" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:node-proxier" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "system:kube-proxy" }],
    },
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "standard", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: "kubernetes.io/host-path",
      reclaimPolicy: "Delete",
      volumeBindingMode: "Immediate",
      allowVolumeExpansion: true,
    },
  ];
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  await kubectl(lab, ["apply", "-f", "-"], list);
}

/** Removes whatever is there of a lab, finished or not. */
async function takeDown(names: LabNames): Promise<void> {
  const hosts = [names.control, ...[...Array(NODE_COUNT).keys()].map((node) => nodeHost(names.lab, node))];
  const known = new Set([...hosts, ...hostsWithGroups(`vk-${names.lab}-`)]);
  await Promise.all([...known].map((host) => powerOff(host)));
  for (const host of known) await removeNetwork(host);
  await rm(names.home, { recursive: true, force: true });
}

/** The environment in which kubectl, tests and the plugin see this lab. Run them with `insideLab`. */
export function labEnv(lab: Lab): Record<string, string> {
  const path = [lab.bin, join(import.meta.dir, "../../dist"), process.env["PATH"] ?? ""].join(":");
  // Labs share their addresses; what kubectl remembers of one server must not be believed of another.
  return { KUBECONFIG: lab.kubeconfig, KUBECACHEDIR: join(lab.home, "kubectl"), LAB: lab.lab, PATH: path };
}

/** The words before a command that make it run where the API server, the pods and the Services can be reached. */
export function insideLab(lab: LabNames): string[] {
  return inNetwork(lab.control);
}

export async function kubectl(lab: Lab, args: readonly string[], input?: string): Promise<string> {
  const command = [
    ...insideLab(lab),
    join(lab.bin, "kubectl"),
    `--kubeconfig=${lab.kubeconfig}`,
    "--request-timeout=30s",
    ...args,
  ];
  return run(command, input === undefined ? {} : { input });
}

/** The names of the labs that have anything on this machine. */
export async function existingLabs(): Promise<string[]> {
  const runs = dirname(labNames(DEFAULT_LAB).home);
  await mkdir(runs, { recursive: true });
  const homes = (await readdir(runs, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
  const hosts = hostsWithGroups("vk-").map((host) => host.split("-")[1] ?? "");
  return [...new Set([...homes, ...hosts])].filter((name) => /^[a-z][a-z0-9]{0,7}$/.test(name)).toSorted();
}
