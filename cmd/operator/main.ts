/** valkey-operator: reads its flags, wires the parts together, runs until it is told to stop. */
import { Command, InvalidArgumentError, Option } from "commander";
import { LOG_LEVELS } from "../../pkg/log/log.ts";
import { VERSION, versionLine } from "../../pkg/version/version.ts";
import type { OperatorFlags } from "./flags.ts";

const env = process.env;

function port(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value <= 65_535) return value;
  throw new InvalidArgumentError("must be a port from 0 to 65535");
}

const program = new Command("valkey-operator")
  .description("Makes and heals Valkey deployments on Kubernetes.")
  .version(versionLine("valkey-operator"))
  .addOption(
    new Option(
      "--kubeconfig <file>",
      "kubeconfig to use (default: KUBECONFIG, ~/.kube/config, the pod's service account)",
    ),
  )
  .addOption(new Option("--context <name>", "context of the kubeconfig"))
  .addOption(
    new Option("--namespace <name>", "the operator's own namespace")
      .env("POD_NAMESPACE")
      .default("valkey-operator-system"),
  )
  .addOption(
    new Option("--identity <name>", "name of this replica").env("POD_NAME").default(env["HOSTNAME"] ?? "local"),
  )
  .addOption(
    new Option("--watch-scope <scope>", "cluster: all namespaces; namespace: only its own, without webhooks")
      .choices(["cluster", "namespace"])
      .env("WATCH_SCOPE")
      .default("cluster"),
  )
  .addOption(new Option("--health-port <port>", "probes and metrics").argParser(port).default(8081))
  .addOption(new Option("--webhook-port <port>", "admission webhooks").argParser(port).default(9443))
  .addOption(new Option("--agent-port <port>", "where agents report to").argParser(port).default(8443))
  .addOption(new Option("--pod-ip <address>", "address of this replica").env("POD_IP"))
  .addOption(
    new Option("--sidecar-image <image>", "image of the agent for clusters that name none")
      .env("SIDECAR_IMAGE")
      .default(`localhost/valkey-sidecar:${VERSION.version}`),
  )
  .addOption(
    new Option("--secrets-store-path <folder>", "volumes of the secrets store CSI driver, a folder per ValkeyCA's name")
      .env("SECRETS_STORE_PATH")
      .default("/etc/valkey-operator/secrets-store"),
  )
  .addOption(
    new Option("--log-level <level>", "changeable at run time: PUT /loglevel, SIGUSR2")
      .choices(LOG_LEVELS)
      .env("LOG_LEVEL")
      .default("info"),
  )
  .action(async (flags: OperatorFlags) => {
    const { runOperator } = await import("./run.ts");
    process.exit(await runOperator(flags));
  });

await program.parseAsync();
