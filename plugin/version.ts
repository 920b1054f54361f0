/** kubectl valkey version: this plugin's version, and that of every operator in the cluster. */
import * as v from "valibot";
import { KubeClient } from "../pkg/kube/client.ts";
import { loadConnection } from "../pkg/kube/kube-config.ts";
import { DEPLOYMENTS, ObjectMetaSchema, typed } from "../pkg/kube/resource.ts";
import { KubeTransport } from "../pkg/kube/transport.ts";
import { VERSION, versionLine } from "../pkg/version/version.ts";
import type { ConnectionOptions } from "./connection.ts";

export interface VersionOptions extends ConnectionOptions {
  readonly output: "text" | "json";
  readonly client?: boolean;
}

export interface OperatorFound {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly ready: number;
  readonly wanted: number;
}

const Deployment = v.object({
  metadata: ObjectMetaSchema,
  spec: v.object({
    replicas: v.optional(v.number(), 1),
    template: v.object({ spec: v.object({ containers: v.array(v.object({ name: v.string(), image: v.string() })) }) }),
  }),
  status: v.optional(v.object({ readyReplicas: v.optional(v.number(), 0) })),
});

const OPERATORS = typed(DEPLOYMENTS, (value) => v.parse(Deployment, value));
const LABEL = "app.kubernetes.io/name=valkey-operator";

export async function showVersion(options: VersionOptions): Promise<void> {
  const operators = options.client === true ? undefined : await findOperators(options);
  const text =
    options.output === "json" ? JSON.stringify({ plugin: VERSION, operators }, undefined, 2) : render(operators);
  process.stdout.write(`${text}\n`);
}

async function findOperators({ kubeconfig, context }: ConnectionOptions): Promise<OperatorFound[]> {
  const connection = loadConnection({ kubeconfig, context, userAgent: `kubectl-valkey/${VERSION.version}` });
  const transport = new KubeTransport(connection);
  try {
    const { items } = await new KubeClient(transport).listAll(
      OPERATORS,
      { labelSelector: LABEL },
      { deadlineMs: 10_000 },
    );
    return items.map(operatorOf);
  } finally {
    transport.close();
  }
}

function operatorOf({ metadata, spec, status }: v.InferOutput<typeof Deployment>): OperatorFound {
  const container = spec.template.spec.containers.find(({ name }) => name === "operator");
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    image: container?.image ?? "unknown",
    ready: status?.readyReplicas ?? 0,
    wanted: spec.replicas,
  };
}

export function render(operators: readonly OperatorFound[] | undefined): string {
  const lines = [versionLine("kubectl-valkey")];
  for (const { namespace, name, image, ready, wanted } of operators ?? []) {
    lines.push(`operator ${namespace}/${name}: ${image}, ${ready} of ${wanted} replicas ready`);
  }
  if (operators?.length === 0) lines.push("no valkey-operator is installed in this cluster");
  return lines.join("\n");
}
