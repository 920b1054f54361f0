/** Where a lab's things are. Several labs may run beside each other (a demo, a test run), each under its own name. */
import { join } from "node:path";
import { cacheHome } from "../../scripts/build.ts";
import { Trouble } from "../../scripts/lib.ts";

export const DEFAULT_LAB = "lab";
export const NODE_COUNT = 3;

/** Addresses are the same in every lab: each has network namespaces of its own. */
export const CONTROL_ADDRESS = "10.89.0.1";
export const SERVICE_RANGE = "10.96.0.0/16";

export interface LabNames {
  readonly lab: string;
  /** Everything the lab writes to disk. */
  readonly home: string;
  readonly kubeconfig: string;
  readonly control: string;
}

export function labNames(lab: string): LabNames {
  if (!/^[a-z][a-z0-9]{0,7}$/.test(lab)) {
    throw new Trouble(`"${lab}" cannot name a lab: use one to eight lower-case letters and digits, a letter first`);
  }
  const home = join(cacheHome(), "lab", "run", lab);
  return { lab, home, kubeconfig: join(home, "pki", "admin.conf"), control: `vk-${lab}-ctl` };
}

export function nodeHost(lab: string, node: number): string {
  return `vk-${lab}-node${node}`;
}

export function nodeAddress(node: number): string {
  return `10.89.0.${10 + node}`;
}

export function podRange(node: number): string {
  return `10.244.${node}.0/24`;
}

/** Unix sockets must have short paths, and what lives here dies with the host: a tmpfs of the host's own. */
export function hostRun(): string {
  return "/run/vk-lab";
}
