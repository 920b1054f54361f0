/**
 * Who may call what: one table that agents and operator share. Callers are known by their certificates. A method without
 * a line here is served to nobody: the compiler demands one for every method, and a server refuses to start without it.
 */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { formatSpiffeId, type NodeIdentity, type SpiffeId, sameDeployment } from "../pki/pki.ts";
import { AgentService } from "./gen/valkey/agent/v1/agent_pb.ts";
import { PeerService } from "./gen/valkey/agent/v1/peer_pb.ts";
import { OperatorService } from "./gen/valkey/operator/v1/operator_pb.ts";

export interface MethodRule {
  /**
   * `operator`: the operator that owns this deployment, and no other. `same-deployment`: nodes of the deployment that
   * this node is of. `any-node`: every node of the trust domain; the handler must serve it its own affairs only.
   */
  readonly callers: "operator" | "same-deployment" | "any-node";
  /** A command needs a fencing token that is not lower than the highest seen. */
  readonly command: boolean;
}

export type MethodRules = ReadonlyMap<string, MethodRule>;

/** Whom a server belongs to. */
export interface Belonging {
  readonly trustDomain: string;
  /** Where the operator runs. */
  readonly operatorNamespace: string;
  /** Of an agent: which node it is. */
  readonly node?: NodeIdentity;
}

export type RuleVerdict =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly reason: "foreign-trust-domain" | "wrong-deployment" | "role-not-allowed";
      readonly message: string;
    };

const ASK: MethodRule = { callers: "operator", command: false };
const COMMAND: MethodRule = { callers: "operator", command: true };
const PEERS: MethodRule = { callers: "same-deployment", command: false };
const NODES: MethodRule = { callers: "any-node", command: false };

export const METHOD_RULES: MethodRules = new Map([
  ...serviceRules(AgentService, {
    getInfo: ASK,
    getState: ASK,
    configure: COMMAND,
    own: COMMAND,
    meet: COMMAND,
    follow: COMMAND,
    promote: COMMAND,
    handover: COMMAND,
    forget: COMMAND,
    stop: COMMAND,
  }),
  ...serviceRules(PeerService, { getStanding: PEERS, ask: PEERS }),
  ...serviceRules(OperatorService, { heartbeat: NODES, report: NODES }),
]);

/** A rule for each method of a service; one that is missing does not compile. */
export function serviceRules<S extends DescService>(
  service: S,
  rules: Readonly<Record<keyof S["method"] & string, MethodRule>>,
): readonly (readonly [string, MethodRule])[] {
  const byName = new Map<string, MethodRule>(Object.entries(rules));
  return service.methods.flatMap((method) => {
    const rule = byName.get(method.localName);
    return rule === undefined ? [] : [[methodName(method), rule] as const];
  });
}

/** `valkey.agent.v1.AgentService/GetInfo`: as in the path of a call. */
export function methodName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

/** Whether the rule lets this caller in. */
export function judgeCaller(rule: MethodRule, caller: SpiffeId, own: Belonging): RuleVerdict {
  const who = formatSpiffeId(caller);
  if (caller.trustDomain !== own.trustDomain) {
    return no("foreign-trust-domain", `${who} is of another trust domain than ${own.trustDomain}`);
  }
  switch (rule.callers) {
    case "operator":
      return judgeOperator(caller, own);
    case "same-deployment":
      return judgePeer(caller, own);
    case "any-node":
      return caller.role === "node" ? { ok: true } : no("role-not-allowed", `only nodes may call this, not ${who}`);
    default:
      return rule.callers satisfies never;
  }
}

function judgeOperator(caller: SpiffeId, { operatorNamespace }: Belonging): RuleVerdict {
  const who = formatSpiffeId(caller);
  if (caller.role !== "operator") return no("role-not-allowed", `only the operator may call this, not ${who}`);
  if (caller.namespace === operatorNamespace) return { ok: true };
  return no("wrong-deployment", `${who} is another operator than the one in namespace ${operatorNamespace}`);
}

function judgePeer(caller: SpiffeId, { node }: Belonging): RuleVerdict {
  const who = formatSpiffeId(caller);
  if (caller.role !== "node") return no("role-not-allowed", `only nodes may call this, not ${who}`);
  if (node !== undefined && sameDeployment(caller, node)) return { ok: true };
  return no("wrong-deployment", `${who} is a node of another deployment`);
}

function no(reason: Exclude<RuleVerdict, { ok: true }>["reason"], message: string): RuleVerdict {
  return { ok: false, reason, message };
}
