/**
 * A host of the lab: a network namespace with a name, and below it one process that is number 1 of a PID and a mount
 * namespace of the host's own. Kill that one and the kernel ends every process of the host and forgets every mount it
 * had: a power cut, and at the same time a clean-up that cannot be incomplete.
 */
import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { run, Trouble } from "../../scripts/lib.ts";
import { createGroups, joinFile, processesOf, removeGroups } from "./cgroup.ts";
import { hostRun } from "./names.ts";

export interface Host {
  readonly name: string;
  /** Where this host's logs and disks are. */
  readonly home: string;
  /** The folder of the lab's programs. */
  readonly bin: string;
  /** The pods' volumes, which every host of the lab sees where the in-tree provisioner makes them. */
  readonly volumes: string;
}

/** Where kube-controller-manager's host-path provisioner makes every volume; the path is fixed in its source. */
export const PROVISIONER_PATH = "/tmp/hostpath_pv";

export function netnsPath(host: string): string {
  return `/run/netns/${host}`;
}

/** The words before a command that make it run in a host's network. */
export function inNetwork(host: string): string[] {
  return ["nsenter", `--net=${netnsPath(host)}`];
}

/** Powers a host on: process 1, with a /proc of its own and an empty /run/vk-lab. Its network exists already. */
export async function powerOn(host: Host): Promise<void> {
  await createGroups(host.name);
  await mkdir(join(host.home, "log"), { recursive: true });
  for (const folder of [hostRun(), PROVISIONER_PATH, host.volumes]) await mkdir(folder, { recursive: true });
  const setUp = `mount -t tmpfs -o mode=755 tmpfs ${hostRun()}
    mount --bind ${host.volumes} ${PROVISIONER_PATH}
    exec "$0"`;
  const unshare = ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const init = ["sh", "-ec", setUp, join(host.bin, "pause")];
  spawnInGroup(host, "init", [...inNetwork(host.name), ...unshare, ...init]);
  await until(`${host.name} to be powered on`, 10_000, () => initOf(host.name) !== undefined);
}

/** The first process of the host, in our numbering: the one that is number 1 in its own. */
export function initOf(host: string): number | undefined {
  return processesOf(host).find((pid) => {
    const status = readStatus(pid);
    return /^NSpid:\s+\d+\s+1$/m.test(status) && /^Name:\s+pause$/m.test(status);
  });
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return ""; // It ended while we looked.
  }
}

/** The words before a command that make it run on a host: its network, its mounts, its processes. */
export function onHost(host: string): string[] {
  const init = initOf(host);
  if (init === undefined) throw new Trouble(`${host} is powered off`);
  return ["nsenter", `--target=${init}`, "--net", "--mount", "--pid"];
}

/** Starts a program on a host. Its output goes to the log of that name; it belongs to the host from its first moment. */
export function startProgram(host: Host, name: string, command: readonly string[]): void {
  spawnInGroup(host, name, [...onHost(host.name), ...command]);
}

/** Before the name of a program that has ended and is started again, in its log. */
export const RESTARTED = "### again:";

/**
 * Starts a program on a host and starts it again whenever it ends, as a service manager does. Without that one panic of
 * a scheduler would be the end of every test that comes after it.
 */
export function keepProgram(host: Host, name: string, command: readonly string[]): void {
  const forever = `while :; do "$@"; echo "${RESTARTED} ${name} ended with $?"; sleep 0.2; done`;
  spawnInGroup(host, name, ["sh", "-c", forever, "sh", ...onHost(host.name), ...command]);
}

/** The processes of a program on a host. */
export function processesNamed(host: string, program: string): number[] {
  return processesOf(host).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0]?.endsWith(program) === true;
    } catch {
      return false; // It ended while we looked.
    }
  });
}

function spawnInGroup(host: Host, log: string, command: readonly string[]): void {
  const file = join(host.home, "log", `${log}.log`);
  const script = `echo $$ > ${joinFile(host.name)} && exec setsid "$@" >> ${file} 2>&1 < /dev/null`;
  const child = Bun.spawn(["sh", "-c", script, "sh", ...command], {
    env: { ...process.env, PATH: `${host.bin}:${process.env["PATH"]}` },
    stdio: ["ignore", "ignore", "ignore"],
  });
  child.unref();
}

/** Ends everything that runs on a host, at once and without a word. */
export async function powerOff(host: string): Promise<void> {
  await until(`${host} to be powered off`, 20_000, () => {
    const alive = processesOf(host);
    for (const pid of alive) kill(pid, "SIGKILL");
    return alive.length === 0;
  });
  await until(`the control groups of ${host} to be gone`, 10_000, () => removeGroups(host).length === 0);
}

export function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** Waits for a condition, looking again every 50 ms. */
export async function until(what: string, deadlineMs: number, met: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await met())) {
    if (performance.now() > end) throw new Trouble(`waited ${deadlineMs / 1000} s for ${what}, in vain`);
    await Bun.sleep(50);
  }
}

export async function addNetwork(host: string): Promise<void> {
  if (existsSync(netnsPath(host))) await removeNetwork(host);
  await run(["ip", "netns", "add", host]);
  await run([...inNetwork(host), "ip", "link", "set", "lo", "up"]);
}

export async function removeNetwork(host: string): Promise<void> {
  if (existsSync(netnsPath(host))) await run(["ip", "netns", "del", host]);
}
