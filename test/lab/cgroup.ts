/**
 * Every process of a lab's host lives below one control group named after the host, so that "kill what is in it" is a
 * power cut and a clean-up, whatever else went wrong. Hosts with cgroup v1, hybrid and v2 all serve.
 */
import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

const MOUNT = "/sys/fs/cgroup";
/** The last one is the v2 hierarchy of a hybrid host, without controllers, in which runc makes groups all the same. */
const V1_HIERARCHIES = [
  "cpu",
  "cpuacct",
  "cpuset",
  "memory",
  "devices",
  "freezer",
  "blkio",
  "pids",
  "systemd",
  "unified",
];
/** What kubelet wants to find enabled on v2. */
const V2_CONTROLLERS = ["cpuset", "cpu", "io", "memory", "pids", "hugetlb"];

/**
 * What the pods of a node weigh against one thread of everything else, in shares: as much as eight. On a machine of its own
 * a kubelet gives its pods far more than itself; here, with one weight for all pods of a node, agents would wait for
 * seconds behind the threads of three kubelets and an API server.
 */
const V1_POD_SHARES = 8 * 1024;

export function cgroupVersion(): 1 | 2 | undefined {
  if (existsSync(join(MOUNT, "cgroup.controllers"))) return 2;
  return existsSync(join(MOUNT, "pids")) ? 1 : undefined;
}

/** The hierarchies that hold a host's groups. */
function hierarchies(): string[] {
  if (cgroupVersion() === 2) return [MOUNT];
  return V1_HIERARCHIES.map((name) => join(MOUNT, name)).filter((path) => existsSync(path));
}

/** The hierarchy in which a host's processes are counted. */
function tracking(): string {
  return cgroupVersion() === 2 ? MOUNT : join(MOUNT, "pids");
}

/** The file to write a process id into, so that it and all it starts belong to the host. */
export function joinFile(host: string): string {
  return join(tracking(), host, "host", "cgroup.procs");
}

export async function createGroups(host: string): Promise<void> {
  if (cgroupVersion() === 2) return createUnified(host);
  for (const hierarchy of hierarchies()) await mkdir(join(hierarchy, host), { recursive: true });
  await mkdir(join(tracking(), host, "host"), { recursive: true });
  const shares = join(MOUNT, "cpu", host, "cpu.shares");
  if (existsSync(shares)) writeFileSync(shares, String(V1_POD_SHARES));
  // A new cpuset group is empty, and no process may join it before it has been given processors and memory.
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    const parent = join(MOUNT, "cpuset", file);
    if (existsSync(parent)) writeFileSync(join(MOUNT, "cpuset", host, file), readFileSync(parent, "utf8"));
  }
}

async function createUnified(host: string): Promise<void> {
  await emptyContainerRoot();
  enableControllers(MOUNT);
  await mkdir(join(MOUNT, host, "host"), { recursive: true });
  enableControllers(join(MOUNT, host));
}

/**
 * In a container what looks like the root is a group like any other, and one that holds processes cannot pass its
 * controllers on: they move one level down. Only the true root has no type, and is free of that rule.
 */
async function emptyContainerRoot(): Promise<void> {
  if (!existsSync(join(MOUNT, "cgroup.type")) || processesIn(MOUNT).length === 0) return;
  await mkdir(join(MOUNT, "init"), { recursive: true });
  for (const pid of processesIn(MOUNT)) {
    try {
      writeFileSync(join(MOUNT, "init/cgroup.procs"), String(pid));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error; // It ended meanwhile.
    }
  }
}

function enableControllers(group: string): void {
  const available = readFileSync(join(group, "cgroup.controllers"), "utf8").trim().split(" ");
  const enabled = readFileSync(join(group, "cgroup.subtree_control"), "utf8").trim().split(" ");
  for (const name of V2_CONTROLLERS.filter((one) => available.includes(one) && !enabled.includes(one))) {
    writeFileSync(join(group, "cgroup.subtree_control"), `+${name}`);
  }
}

/** The hosts of a lab that have a group, whether or not anything runs in them. */
export function hostsWithGroups(prefix: string): string[] {
  const names = hierarchies().flatMap((path) => readdirSync(path).filter((name) => name.startsWith(prefix)));
  return [...new Set(names)].toSorted();
}

/** Every process of a host, in the numbering of whoever asks. */
export function processesOf(host: string): number[] {
  return groupsBelow(join(tracking(), host)).flatMap(processesIn);
}

/** The processes of one container, found by its id in the name of its group. */
export function processesOfContainer(host: string, containerId: string): number[] {
  return groupsBelow(join(tracking(), host))
    .filter((path) => path.includes(containerId))
    .flatMap(processesIn);
}

function processesIn(group: string): number[] {
  try {
    return readFileSync(join(group, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    return []; // The group went away while we looked: nothing is in it.
  }
}

/** A group and all groups below it, deepest first. */
function groupsBelow(group: string): string[] {
  try {
    const children = readdirSync(group, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [...children.flatMap((entry) => groupsBelow(join(group, entry.name))), group];
  } catch {
    return [];
  }
}

/** Removes a host's groups; those that still hold a process stay, and are returned. */
export function removeGroups(host: string): string[] {
  const left: string[] = [];
  for (const hierarchy of hierarchies()) {
    for (const group of groupsBelow(join(hierarchy, host))) {
      try {
        rmdirSync(group);
      } catch {
        left.push(group);
      }
    }
  }
  return left;
}
