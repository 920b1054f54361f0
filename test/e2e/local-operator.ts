/**
 * The operator as a process beside the cluster instead of pods in it, so that a test can end it at an exact point. It
 * reaches the API server through a proxy that sees what it writes. The pods of the installed one must be scaled away.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { loadConnection } from "../../pkg/kube/kube-config.ts";
import { LEASES } from "../../pkg/kube/resource.ts";
import { type Answered, FaultProxy } from "../lib/fault-proxy.ts";
import { BINARIES } from "./cluster.ts";
import { OPERATOR_NAMESPACE } from "./install.ts";
import { client } from "./operator.ts";

/** What a life of the operator ended with. */
export interface Life {
  readonly writes: readonly string[];
  readonly commands: readonly string[];
}

/** Whoever listens to the proxy at the moment. */
interface Ear {
  hear: (answered: Answered) => void;
}

const LogLine = v.object({ message: v.optional(v.string()), step: v.optional(v.string()) });
type LogLine = v.InferOutput<typeof LogLine>;

const WRITES = new Set(["POST", "PUT", "PATCH", "DELETE"]);

export class LocalOperator {
  readonly #folder: string;
  readonly #proxy: FaultProxy;
  readonly #ear: Ear;

  static async make(): Promise<LocalOperator> {
    const folder = await mkdtemp(join(tmpdir(), "local-operator-"));
    const ear: Ear = { hear: () => {} };
    const proxy = await FaultProxy.start({
      upstream: loadConnection(),
      onAnswer: (answered) => ear.hear(answered),
    });
    await Bun.write(join(folder, "kubeconfig"), JSON.stringify(proxy.kubeconfig));
    return new LocalOperator(folder, proxy, ear);
  }

  private constructor(folder: string, proxy: FaultProxy, ear: Ear) {
    this.#folder = folder;
    this.#proxy = proxy;
    this.#ear = ear;
  }

  /**
   * Runs it until it has written or commanded so often, then ends it with SIGKILL: the server has answered, the operator
   * has not heard it. `over` ends it too, when nothing is left to do.
   */
  async live(stepsUntilDeath: number, over: () => Promise<boolean>): Promise<Life> {
    const writes: string[] = [];
    const commands: string[] = [];
    // A killed leader's Lease would have to run out before the next one leads.
    await client.delete(LEASES, { namespace: OPERATOR_NAMESPACE, name: "valkey-operator" }).catch(() => undefined);
    const child = this.#spawn();
    const count = () => {
      if (writes.length + commands.length >= stepsUntilDeath) child.kill("SIGKILL");
    };
    this.#ear.hear = ({ method, path, status }) => {
      if (!WRITES.has(method) || status >= 400 || isHousekeeping(path)) return;
      writes.push(`${method} ${path.replace(/\?.*/, "")}`);
      count();
    };
    const reading = readLines(child.stdout, ({ message, step }) => {
      if (message !== "step done" || step === undefined || !AGENT_STEPS.test(step)) return;
      commands.push(step);
      count();
    });
    const watching = endWhen(child, over);
    await child.exited;
    await Promise.all([reading, watching]);
    this.#ear.hear = () => {};
    return { writes, commands };
  }

  async close(): Promise<void> {
    await this.#proxy.close();
    await rm(this.#folder, { recursive: true });
  }

  #spawn() {
    return Bun.spawn(
      [join(BINARIES, "valkey-operator"), "--kubeconfig", join(this.#folder, "kubeconfig"), "--log-level", "debug"],
      { env: { POD_IP: "127.0.0.1", POD_NAME: "local" }, stdin: "ignore", stdout: "pipe", stderr: "inherit" },
    );
  }
}

/** Steps done by an agent and not by the API server; pushes are left out, which every life begins with. */
const AGENT_STEPS = /^(?:own|meet|follow|promote|handover|forget)/;

/** The Lease and events are no state of any deployment. */
function isHousekeeping(path: string): boolean {
  return path.includes("/leases") || path.includes("/events") || path.includes("dryRun=");
}

async function endWhen(child: Bun.Subprocess, over: () => Promise<boolean>): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    if (await over().catch(() => false)) child.kill("SIGKILL");
    await Promise.race([child.exited, Bun.sleep(100)]);
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, on: (line: LogLine) => void): Promise<void> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part.startsWith("{")) on(v.parse(LogLine, JSON.parse(part)));
  }
}
