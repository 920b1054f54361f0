/** What the operator remembers of one agent. All of it may be lost: a new leader asks again. */
import { create } from "@bufbuild/protobuf";
import type { NodeIdentity } from "../../pki/pki.ts";
import type { NodeView } from "../../plan/formation/view.ts";
import { type NodeState, NodeStateSchema } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";

/** What it was given by the leader of this term. Ages are told by when. */
export interface Given {
  readonly bootId: string;
  readonly configurationHash: string;
  readonly secretsHash: string;
  readonly sightings: string;
  readonly at: number;
}

/** Why its last commands were not taken. */
export interface Failure {
  readonly step: string;
  readonly message: string;
  readonly times: number;
  /** No further command before that. */
  readonly until: number;
}

export interface AgentRecord {
  readonly identity: NodeIdentity;
  /** Of which pod all this is; undefined until the operator knows. */
  podUid: string | undefined;
  /** What it last said; undefined until it did. */
  view: NodeView | undefined;
  /** The same as it came, the table of others left out. */
  state: NodeState | undefined;
  /** Of the last heartbeat. */
  sequence: { readonly bootId: string; readonly last: bigint };
  /** Since when it has said the same. */
  changedAt: number;
  /** When it was last heard of, on the clock that never goes back. */
  heardAt: number;
  /** When it was last asked in vain since, and why that failed. */
  failedAt: number | undefined;
  why: string;
  /** Whether it was heard of or asked in vain since this replica leads. */
  known: boolean;
  /** How often in a row it was asked in vain. */
  misses: number;
  asking: boolean;
  askAt: number;
  /** The command under way. */
  busy: string | undefined;
  /** Until then what was just done is given time to show: the same is not planned again. */
  settlesUntil: number;
  /** What was done last. */
  lastStep: string;
  /** The others that its server was introduced to, and when. */
  met: ReadonlyMap<string, number>;
  failure: Failure | undefined;
  given: Given | undefined;
}

export function newRecord(identity: NodeIdentity): AgentRecord {
  return {
    identity,
    podUid: undefined,
    view: undefined,
    state: undefined,
    sequence: { bootId: "", last: 0n },
    changedAt: -Infinity,
    heardAt: -Infinity,
    failedAt: undefined,
    why: "",
    known: false,
    misses: 0,
    asking: false,
    askAt: -Infinity,
    busy: undefined,
    settlesUntil: -Infinity,
    lastStep: "",
    met: new Map(),
    failure: undefined,
    given: undefined,
  };
}

/** A thousand tables of a thousand nodes are for the planner alone, in its own compact form. */
export function withoutTable(state: NodeState): NodeState {
  if (state.cluster === undefined) return state;
  return create(NodeStateSchema, { ...state, cluster: { ...state.cluster, nodes: [] } });
}

/** `namespace/name` of the deployment. */
export function deploymentOf({ namespace, name }: NodeIdentity): string {
  return `${namespace}/${name}`;
}

/**
 * A node is called after its deployment, so that no deployment can speak for another one's node.
 */
export function isOwnName({ name, node }: NodeIdentity): boolean {
  return node.startsWith(`${name}-`) && /^[0-9]+-[0-9]+$/.test(node.slice(name.length + 1));
}
