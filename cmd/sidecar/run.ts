/** `valkey-sidecar run`: the agent as a process of a pod. */
import { Agent } from "../../pkg/agent/agent.ts";
import { type AgentFlags, readOptions } from "../../pkg/agent/agent-options.ts";
import { levelControl, toggleOnSignal } from "../../pkg/health/log-level.ts";
import { createLogger, type Logger, type LogLevel } from "../../pkg/log/log.ts";
import { Shutdown } from "../../pkg/shutdown/shutdown.ts";
import { VERSION } from "../../pkg/version/version.ts";

export interface SidecarFlags extends AgentFlags {
  readonly logLevel: LogLevel;
}

/** kubelet ends a pod that takes longer than its grace period, whatever we wait for. */
const SERVER_ENDS_MS = 24 * 3_600_000;

/** Returns the exit code. */
export async function runSidecar(flags: SidecarFlags): Promise<number> {
  const log = createLogger({ program: "valkey-sidecar", level: flags.logLevel });
  const stopToggling = toggleOnSignal(levelControl(log), log);
  log.info({ version: VERSION }, "starting");
  const agent = await startAgent(flags, log);
  if (agent === undefined) return 1;
  const shutdown = new Shutdown({
    log,
    stoppers: [
      // The sidecar of a pod is told to end after its containers; if the server still runs, it is not left alone.
      { name: "server", deadlineMs: SERVER_ENDS_MS, stop: (signal) => agent.serverGone(signal) },
      { name: "agent", stop: (signal) => agent.stop(signal) },
    ],
  });
  const stopListening = shutdown.listen();
  // Ends the process by itself when a signal has come; otherwise the agent goes on until a part of it fails.
  await agent.failed.catch((error: unknown) => log.fatal({ err: error }, "the agent cannot go on"));
  stopListening();
  await agent.stop(AbortSignal.timeout(1000));
  stopToggling();
  return 1;
}

async function startAgent(flags: SidecarFlags, log: Logger): Promise<Agent | undefined> {
  try {
    return await Agent.start({ options: readOptions(process.env, flags), log });
  } catch (error) {
    log.fatal({ err: error }, "the agent cannot start");
    return undefined;
  }
}
