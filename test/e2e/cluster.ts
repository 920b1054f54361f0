/**
 * The cluster that an end-to-end test runs on: the lab by default, or one that the user named with --context. Tests
 * make a namespace of their own and leave nothing behind.
 */
import { join } from "node:path";
import { run, Trouble } from "../../scripts/lib.ts";
import { type Lab, openLab } from "../lab/lab.ts";
import { whenReachable } from "../lib/reachable.ts";

const HINT = "run it through npm run test:e2e";

/** The lab, with its faults; undefined on a cluster that the user already had, which no test may hurt. */
export async function theLab(): Promise<Lab | undefined> {
  const name = process.env["LAB"];
  return name === undefined ? undefined : openLab(name);
}

export const onLab = process.env["LAB"] !== undefined;

export async function kubectl(args: readonly string[], input?: string): Promise<string> {
  if (process.env["KUBE_CONTEXT"] === undefined && !onLab) throw new Trouble(`this test needs a cluster: ${HINT}`);
  return whenReachable(() => run(["kubectl", ...args], input === undefined ? {} : { input }));
}

export async function apply(...objects: readonly object[]): Promise<void> {
  await kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
}

/** A namespace for one test file, gone when the work is done. */
export async function withNamespace<T>(prefix: string, work: (namespace: string) => Promise<T>): Promise<T> {
  const namespace = `${prefix}-${crypto.randomUUID().slice(0, 6)}`;
  await kubectl(["create", "namespace", namespace]);
  try {
    return await work(namespace);
  } finally {
    await kubectl(["delete", "namespace", namespace, "--wait=false"]);
  }
}

export const BINARIES = join(import.meta.dir, "../../dist");
