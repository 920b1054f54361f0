/**
 * What kubelet runs in the agent's container right after its start: it returns when the server may be started, because
 * the agent has made the gate and can be asked by the server's container. A probe would be asked once a second, and only
 * after kubelet has looked at its containers, which it does once a second too.
 */
import { lstatSync } from "node:fs";
import { type Clock, pause, systemClock } from "../clock/clock.ts";
import type { AgentPaths } from "./agent-paths.ts";
import { isMissing } from "./files.ts";

/** The program's own command that does this. */
export const AWAIT_START = "await-start";
/** An agent that has not started by then never will: kubelet starts it again. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 10;

export interface AwaitStartOptions {
  readonly paths: Pick<AgentPaths, "gate" | "agentSocket">;
  readonly clock?: Clock;
  /** Defaults to a minute. */
  readonly patienceMs?: number;
}

/** What is missing after all patience; undefined when the agent has started. */
export async function awaitStart(options: AwaitStartOptions, signal: AbortSignal): Promise<string | undefined> {
  const { paths, clock = systemClock, patienceMs = PATIENCE_MS } = options;
  const until = clock.monotonic() + patienceMs;
  const missing = () => [paths.gate, paths.agentSocket].find((path) => !isThere(path));
  while (missing() !== undefined && clock.monotonic() < until && (await pause(clock, LOOK_MS, signal)));
  const path = missing();
  if (path === undefined) return undefined;
  return `the agent has not made ${path} within ${patienceMs / 1000} s: its log says why`;
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
