/**
 * kubectl-valkey: what is there, what the operator is doing, and why. Each subcommand is a file of its own, loaded only
 * when it is asked for, so that the plugin starts fast.
 */
import { Command, Option } from "commander";
import { versionLine } from "../pkg/version/version.ts";
import { EXIT_HELP } from "./exit-code.ts";
import { fail } from "./fail.ts";
import type { FailoverOptions } from "./failover.ts";
import type { ShowOptions } from "./show.ts";
import type { VersionOptions } from "./version.ts";

/** As with kubectl, these may stand before or after the command's name. */
function connected(command: Command): Command {
  return command
    .addOption(new Option("--kubeconfig <file>", "kubeconfig to use instead of KUBECONFIG and ~/.kube/config"))
    .addOption(new Option("--context <name>", "context of the kubeconfig to use"));
}

const program = connected(new Command("kubectl-valkey"))
  .usage("[options] <command>")
  .description("Shows and steers Valkey deployments that valkey-operator runs.")
  .version(versionLine("kubectl-valkey"))
  .showHelpAfterError("(kubectl valkey --help shows what there is)");

connected(program.command("version"))
  .description("the versions of this plugin and of the operators in the cluster")
  .addOption(new Option("-o, --output <format>", "text or json").choices(["text", "json"]).default("text"))
  .option("--client", "only the plugin's own version")
  .action(async (_options: unknown, command: Command) => {
    const { showVersion } = await import("./version.ts");
    await showVersion(command.optsWithGlobals<VersionOptions>());
  });

interface ViewCommand {
  readonly name: string;
  readonly about: string;
  readonly run: (name: string, options: ShowOptions) => Promise<number>;
}

/** A command that shows one cluster. */
function shows({ name, about, run }: ViewCommand): Command {
  return connected(program.command(name))
    .argument("<name>", "name of the ValkeyCluster")
    .description(about)
    .option("-n, --namespace <namespace>", "namespace of the cluster; by default the one of the context")
    .option("-w, --watch", "go on showing it as it changes, until interrupted")
    .option("--until-ready", "as --watch, but end when the cluster is ready")
    .addOption(new Option("-o, --output <format>", "text or json").choices(["text", "json"]).default("text"))
    .option("--no-color", "without colours, as when NO_COLOR is set or the output is no terminal")
    .addHelpText("after", `\n${EXIT_HELP}`)
    .action(async (cluster: string, _options: unknown, command: Command) => {
      process.exitCode = await run(cluster, command.optsWithGlobals<ShowOptions>());
    });
}

shows({
  name: "status",
  about: "how a cluster is, what is being done to it, what is held back and why, and what to do",
  run: async (name, options) => (await import("./status.ts")).showStatus(name, options),
});

shows({
  name: "topology",
  about: "the shards of a cluster: slots, primary and replicas, and where they run",
  run: async (name, options) => (await import("./topology.ts")).showTopology(name, options),
}).option("--all", "every shard, however many there are");

connected(program.command("failover"))
  .argument("<name>", "name of the ValkeyCluster")
  .argument("[shard]", "number of the shard, or the pod that leads it")
  .description("lets the primary of a shard hand over to a replica, and tells for how long writes waited")
  .option("-n, --namespace <namespace>", "namespace of the cluster; by default the one of the context")
  .option("--to <pod>", "the replica that is to lead; by default the one with the newest copy")
  .option("--dry-run", "say what would happen, have the server check it, and do nothing")
  .option("-y, --yes", "do not ask")
  .addOption(new Option("-o, --output <format>", "text or json").choices(["text", "json"]).default("text"))
  .addHelpText("after", "\nExit codes: 0 it was done, or nothing was asked for; 1 it was not done, with the reason.")
  .action(async (cluster: string, shard: string | undefined, _options: unknown, command: Command) => {
    const { failOver } = await import("./failover.ts");
    await failOver(cluster, shard, command.optsWithGlobals<FailoverOptions>());
  });

try {
  await program.parseAsync();
} catch (error) {
  fail(error);
}
