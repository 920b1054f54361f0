/** What agents say of their servers. */
import type { NodeContext } from "./context.ts";
import { type Finding, inner, quoted } from "./finding.ts";

const SILENT_MS = 30_000;
const GATE_MS = 60_000;

export function agentFindings(context: NodeContext): Finding[] {
  const { node, patience } = context;
  const about = { subject: node.pod?.metadata.name ?? node.node, node: node.node };
  const failed = node.failed === undefined ? [] : [{ ...about, ...nodeFailed(node.failed) }];
  if (node.agent === undefined) return failed;
  const { refusals, needsRestart, troubles, silentSince } = node.agent;
  if (silentSince !== undefined) {
    return patience.over(silentSince, SILENT_MS) ? [...failed, { ...about, ...silent(context) }] : failed;
  }
  return [
    ...failed,
    ...gate(context).map((draft) => ({ ...about, ...draft })),
    ...refusals.map((refusal) => ({ ...about, ...refused(refusal) })),
    ...needsRestart.map((name) => ({ ...about, ...restart(name) })),
    ...troubles.map(({ reason, message }) => ({ ...about, ...told(reason, message) })),
  ];
}

type Draft = Omit<Finding, "subject" | "node">;

function nodeFailed(message: string): Draft {
  return {
    reason: "NodeFailed",
    severity: "error",
    what: "what belongs to a node cannot be made",
    detail: quoted(message),
    fix: "It is tried again and again; put the cause right.",
  };
}

function silent({ node, facts }: NodeContext): Draft {
  const pod = node.pod?.metadata.name ?? node.node;
  return {
    reason: "AgentSilent",
    severity: "warning",
    what: "agents do not answer the operator; their servers go on serving",
    fix: `kubectl logs ${pod} -c agent -n ${facts.namespace} shows why; a NetworkPolicy that closes port 8444 is a usual cause.`,
  };
}

function gate({ node, patience }: NodeContext): Draft[] {
  const waitsFor = node.agent?.waitsFor ?? "";
  if (waitsFor === "" || !patience.over(node.pod?.status.startTime, GATE_MS)) return [];
  return [
    {
      reason: "WaitsToStart",
      severity: "warning",
      what: "servers wait to be let in, so that old data never runs over new",
      detail: quoted(waitsFor),
      fix: "They go on when the others of their shard are back, or are known to be gone for good.",
    },
  ];
}

function refused({ name, message }: { readonly name: string; readonly message: string }): Draft {
  const detail = quoted(message);
  if (name === "acl") {
    return {
      reason: "AclRefused",
      severity: "error",
      what: "servers do not accept the users",
      detail,
      fix: "Correct acl-definitions.yaml in the Secret that the ValkeyClusterAcl names. The users before it stay in force.",
    };
  }
  if (name === "tls") {
    return {
      reason: "TlsRefused",
      severity: "error",
      what: "servers do not accept the certificate",
      detail,
      fix: "Correct the Secret that the ValkeyClusterTls names. The certificate before it stays in use.",
    };
  }
  return {
    reason: "SettingRefused",
    severity: "error",
    what: `servers do not accept the value of ${name}`,
    detail,
    fix: `Correct spec.config.${name}, or the field that sets it. The value before it stays in force.`,
  };
}

function restart(name: string): Draft {
  return {
    reason: "RestartNeeded",
    severity: "notice",
    what: `${name} takes effect only when a server starts`,
    fix: "Everything else was applied. The servers are restarted one after the other for it; status.holds says what that waits for.",
  };
}

/** What keeps a server from its work. */
const GRAVE: ReadonlySet<string> = new Set(["DiskFull"]);

/** The agent speaks to people already. */
function told(reason: string, message: string): Draft {
  return { reason, severity: GRAVE.has(reason) ? "error" : "warning", what: inner(quoted(message)), fix: "" };
}
