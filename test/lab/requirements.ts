/**
 * What a machine must have to carry a lab. What apt-get can install is installed; the rest is named, in one line that
 * says what is missing and how to get it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { aptInstall } from "../../scripts/apt.ts";
import { step, Trouble } from "../../scripts/lib.ts";
import { cgroupVersion } from "./cgroup.ts";

/** A program the lab runs, and the Debian package it comes in. */
const PROGRAMS: ReadonlyMap<string, string> = new Map([
  ["runc", "runc"],
  ["/usr/lib/cni/ptp", "containernetworking-plugins"],
  ["iptables", "iptables"],
  ["ip", "iproute2"],
  ["conntrack", "conntrack"],
  ["nsenter", "util-linux"],
  ["mmdebstrap", "mmdebstrap"],
  ["openssl", "openssl"],
]);

/** Why this machine cannot carry a lab, or undefined when it can. */
export function whyNoLab(): string | undefined {
  if (process.platform !== "linux") return "the lab needs Linux; with --context NAME the tests use a cluster you have";
  if (process.getuid?.() !== 0) return "the lab needs root (network namespaces, mounts, cgroups): run it with sudo";
  if (cgroupVersion() === undefined) return "no cgroup file system is mounted at /sys/fs/cgroup: mount it (v1 or v2)";
  if (!hasOverlay()) return "the kernel has no overlay file system: use one built with CONFIG_OVERLAY_FS";
  if (!existsSync("/proc/self/ns/net")) return "the kernel has no network namespaces: use one built with CONFIG_NET_NS";
  return undefined;
}

/** Many kernels have it as a module and list it only once it is loaded, which on a machine just booted it is not. */
function hasOverlay(): boolean {
  const listed = () => readFileSync("/proc/filesystems", "utf8").includes("\toverlay\n");
  if (!listed()) spawnSync("modprobe", ["overlay"]);
  return listed();
}

export async function requireLab(): Promise<void> {
  const why = whyNoLab();
  if (why !== undefined) throw new Trouble(why);
  await installMissing();
}

async function installMissing(): Promise<void> {
  const missing = missingPackages();
  if (missing.length === 0) return;
  if (Bun.which("apt-get") === null) {
    throw new Trouble(`the lab needs these Debian packages, or their like of your distribution: ${missing.join(" ")}`);
  }
  await step(`install ${missing.join(" ")}`, () => aptInstall(missing));
  const still = missingPackages();
  if (still.length > 0) throw new Trouble(`apt-get installed ${still.join(" ")}, but the programs are not there`);
}

function missingPackages(): string[] {
  return [...PROGRAMS]
    .filter(([program]) => Bun.which(program) === null && !existsSync(program))
    .map(([, name]) => name);
}
