/**
 * What agents say, turned into what the planner reads. In a large cluster nearly all agents say the same of every node;
 * equal words are kept once, or a thousand tables of a thousand nodes would fill the memory.
 */
import type {
  ClusterTable,
  DiskView,
  KnownNode,
  NodeView,
  ReplicationView,
  Role,
  ServerPhase,
} from "../../plan/formation/view.ts";
import {
  type ClusterState,
  type DiskState,
  type NodeState,
  type ReplicationState,
  type KnownNode as SaidNode,
  ServerPhase as SaidPhase,
  Role as SaidRole,
  type SlotRange,
} from "../../rpc/gen/valkey/agent/v1/state_pb.ts";

const PHASES: Readonly<Record<SaidPhase, ServerPhase>> = {
  [SaidPhase.UNSPECIFIED]: "unknown",
  [SaidPhase.ABSENT]: "absent",
  [SaidPhase.GATED]: "gated",
  [SaidPhase.LOADING]: "loading",
  [SaidPhase.RUNNING]: "running",
  [SaidPhase.SILENT]: "silent",
  [SaidPhase.STOPPED]: "stopped",
};

const ROLES: Readonly<Record<SaidRole, Role>> = {
  [SaidRole.UNSPECIFIED]: "unknown",
  [SaidRole.PRIMARY]: "primary",
  [SaidRole.REPLICA]: "replica",
};

const NO_SERVER = { phase: SaidPhase.UNSPECIFIED, keys: 0n, ready: false, version: "", waitsFor: "" };
const NOT_APPLIED = { configurationHash: "", secretsHash: "" };

/** Beyond this many different words all are dropped; those in use live on in the views that hold them. */
const MOST_WORDS = 20_000;

export class NodeViews {
  readonly #words = new Map<string, KnownNode>();

  of(state: NodeState): NodeView {
    const { cluster } = state;
    const { phase, keys, ready, version, waitsFor } = state.server ?? NO_SERVER;
    const { configurationHash, secretsHash } = state.applied ?? NOT_APPLIED;
    return {
      bootId: state.bootId,
      phase: PHASES[phase] ?? "unknown",
      keys: Number(keys),
      ready,
      version,
      waitsFor,
      cluster: cluster === undefined ? undefined : this.#table(cluster),
      replication: replicationView(state.replication),
      disk: diskView(state.disk),
      applied: {
        configurationHash,
        secretsHash,
      },
      leaseEpoch: Number(state.leaseEpoch),
    };
  }

  #table(cluster: ClusterState): ClusterTable {
    return {
      id: cluster.nodeId,
      ok: cluster.ok,
      role: ROLES[cluster.role] ?? "unknown",
      primaryId: cluster.primaryId,
      configEpoch: Number(cluster.configEpoch),
      currentEpoch: Number(cluster.currentEpoch),
      slotsAssigned: cluster.slotsAssigned,
      slots: cluster.slots.map(slotRange),
      nodes: cluster.nodes.map((node) => this.#known(node)).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    };
  }

  #known(said: SaidNode): KnownNode {
    const node = knownNode(said);
    const word = JSON.stringify(node);
    const before = this.#words.get(word);
    if (before !== undefined) return before;
    if (this.#words.size >= MOST_WORDS) this.#words.clear();
    this.#words.set(word, node);
    return node;
  }
}

function replicationView(said: ReplicationState | undefined): ReplicationView | undefined {
  if (said === undefined) return undefined;
  return { offset: Number(said.offset), inSync: said.inSync, syncing: said.syncing };
}

function diskView(said: DiskState | undefined): DiskView | undefined {
  if (said === undefined) return undefined;
  const { hasData, primary, nodeId: id, epoch, offset } = said;
  return { hasData, primary, id, epoch: Number(epoch), offset: Number(offset) };
}

function knownNode({ id, ip, role, primaryId, failed, handshake, connected, slots, configEpoch }: SaidNode): KnownNode {
  return {
    id,
    ip,
    role: ROLES[role] ?? "unknown",
    primaryId,
    failed,
    handshake,
    connected,
    slots: slots.map(slotRange),
    configEpoch: Number(configEpoch),
  };
}

function slotRange({ first, last }: SlotRange) {
  return { first, last };
}

/** Whether two answers of one agent lead to the same decisions and the same status, counters left out. */
export function sameView(a: NodeView, b: NodeView): boolean {
  return sameTable(a.cluster, b.cluster) && rest(a) === rest(b);
}

function sameTable(a: ClusterTable | undefined, b: ClusterTable | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const { nodes: left, ...one } = a;
  const { nodes: right, ...two } = b;
  if (left.length !== right.length || JSON.stringify(one) !== JSON.stringify(two)) return false;
  return left.every((node, index) => node === right[index] || JSON.stringify(node) === JSON.stringify(right[index]));
}

function rest(view: NodeView): string {
  const { inSync, syncing } = view.replication ?? {};
  return JSON.stringify({ ...view, cluster: undefined, replication: { inSync, syncing }, keys: view.keys > 0 });
}
