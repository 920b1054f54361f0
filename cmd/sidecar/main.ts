/** valkey-sidecar: the agent beside a Valkey server. */
import { Command, InvalidArgumentError, Option } from "commander";
import { PROBE_PORT, RPC_PORT } from "../../pkg/agent/agent-options.ts";
import { agentPaths } from "../../pkg/agent/agent-paths.ts";
import { AWAIT_START, awaitStart } from "../../pkg/agent/await-start.ts";
import { MAKE_GATE, makeFifo } from "../../pkg/agent/gate/fifo.ts";
import { LOG_LEVELS } from "../../pkg/log/log.ts";
import { versionLine } from "../../pkg/version/version.ts";
import type { SidecarFlags } from "./run.ts";

function port(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 65_535) return value;
  throw new InvalidArgumentError("must be a port from 1 to 65535");
}

const program = new Command("valkey-sidecar")
  .description("The agent beside a Valkey server.")
  .version(versionLine("valkey-sidecar"))
  .action(() => program.help({ error: true }));

program
  .command("run")
  .description("Runs beside the server of its pod until that has ended. Who the node is stands in the environment.")
  .option("--run-dir <folder>", "shared with the server: its configuration, its sockets, its gate", "/run/valkey")
  .option("--data-dir <folder>", "the server's data", "/data")
  .option("--mount-dir <folder>", "mounted configuration, secrets and identity", "/etc/valkey-agent")
  .option("--listen <address>", "the address that agent and server listen on (default: all)")
  .addOption(new Option("--rpc-port <port>", "operator and other agents").argParser(port).default(RPC_PORT))
  .addOption(new Option("--probe-port <port>", "kubelet's probes and metrics").argParser(port).default(PROBE_PORT))
  .addOption(
    new Option("--log-level <level>", "changeable at run time: SIGUSR2")
      .choices(LOG_LEVELS)
      .env("LOG_LEVEL")
      .default("info"),
  )
  .action(async (flags: SidecarFlags) => {
    const { runSidecar } = await import("./run.ts");
    process.exit(await runSidecar(flags));
  });

program
  .command(MAKE_GATE, { hidden: true })
  .argument("<path>")
  .action((path: string) => makeFifo(path));

program
  .command(AWAIT_START, { hidden: true })
  .option("--run-dir <folder>", "shared with the server", "/run/valkey")
  .action(async ({ runDir: run }: { readonly runDir: string }) => {
    const paths = agentPaths({ run, data: "/data", mounts: "/etc/valkey-agent" });
    const problem = await awaitStart({ paths }, new AbortController().signal);
    if (problem !== undefined) program.error(`error: ${problem}`);
  });

await program.parseAsync();
