/**
 * What formation decides on: the members that the spec asks for, each with what its agent last said. Plain values; how
 * they came here is no matter of this folder.
 */
import type { SlotRange } from "./slots.ts";

export type ServerPhase = "unknown" | "absent" | "gated" | "loading" | "running" | "silent" | "stopped";
export type Role = "unknown" | "primary" | "replica";

/** Another node as a node sees it. */
export interface KnownNode {
  readonly id: string;
  readonly ip: string;
  readonly role: Role;
  /** Empty for a primary. */
  readonly primaryId: string;
  readonly failed: boolean;
  readonly handshake: boolean;
  readonly connected: boolean;
  readonly slots: readonly SlotRange[];
  readonly configEpoch: number;
}

/** The cluster as one running server sees it. */
export interface ClusterTable {
  readonly id: string;
  readonly ok: boolean;
  readonly role: Role;
  /** Empty for a primary. */
  readonly primaryId: string;
  readonly configEpoch: number;
  readonly currentEpoch: number;
  readonly slotsAssigned: number;
  readonly slots: readonly SlotRange[];
  /** Itself left out. */
  readonly nodes: readonly KnownNode[];
}

export interface ReplicationView {
  readonly offset: number;
  readonly inSync: boolean;
  readonly syncing: boolean;
}

/** What a stopped server would bring if it were let in. */
export interface DiskView {
  readonly hasData: boolean;
  readonly epoch: number;
  readonly offset: number;
  /** Empty when it never had one. */
  readonly id: string;
  readonly primary: boolean;
}

export interface AppliedView {
  readonly configurationHash: string;
  readonly secretsHash: string;
}

/** What an agent said of its server. */
export interface NodeView {
  /** New at every start of the agent. */
  readonly bootId: string;
  readonly phase: ServerPhase;
  /** In memory; of a stopped server 1 when there are files with data. */
  readonly keys: number;
  /** Whether clients can use it. */
  readonly ready: boolean;
  readonly version: string;
  /** What a server at the gate waits for. */
  readonly waitsFor: string;
  readonly cluster: ClusterTable | undefined;
  readonly replication: ReplicationView | undefined;
  readonly disk: DiskView | undefined;
  readonly applied: AppliedView;
  /** The highest epoch that its agent remembers of a lease, of any shard. */
  readonly leaseEpoch: number;
}

export type Contact =
  /** Not in this term: nothing may be decided on what is not known. */
  | { readonly known: "not-asked" }
  | { readonly known: "unreachable"; readonly why: string }
  /** `steadyMs`: for how long it has said the same. */
  | { readonly known: "answer"; readonly state: NodeView; readonly ageMs: number; readonly steadyMs: number };

/** A node that a server was introduced to. */
export interface Met {
  readonly node: string;
  readonly msAgo: number;
}

/** What this boot of an agent was given by the leader of this term. */
export interface Pushed {
  readonly bootId: string;
  readonly configurationHash: string;
  readonly secretsHash: string;
  /** Text of the sightings, as sightingsText gives it. */
  readonly sightings: string;
  readonly ageMs: number;
}

/** Where the last pod of a member that was given a Node runs or ran. */
export interface Ran {
  readonly pod: string;
  readonly machine: string;
  /** Gone: there is no such Node, or it is tainted as out of service. Unknown: the operator may not see Nodes. */
  readonly state: "ready" | "not-ready" | "gone" | "unknown";
  /** Whether kubelet has said that all of it ended. */
  readonly reported: boolean;
  /** Whether the pod is there no more. */
  readonly away: boolean;
}

export interface MemberView {
  /** Name of the ValkeyNode. */
  readonly name: string;
  readonly shard: number;
  readonly member: number;
  /** Of its pod; undefined while it has none. */
  readonly ip: string | undefined;
  /** Whether anything of its pod has started. */
  readonly podRuns: boolean;
  /** Undefined when it is not known, or when it never had a pod. */
  readonly ran: Ran | undefined;
  /** How long the node has been wanted. */
  readonly wantedForMs: number;
  /** The id under which it is on record (the ValkeyNode's status): without one it was never given slots or a primary. */
  readonly recordedId: string | undefined;
  /** Whether a volume was there before the node was: it may hold data of an earlier life. */
  readonly oldVolume: boolean;
  /** Without a volume a pod that never started has nothing. */
  readonly hasVolume: boolean;
  readonly contact: Contact;
  /** The command that is under way to its agent. */
  readonly busy: string | undefined;
  readonly pushed: Pushed | undefined;
}

/** What all agents should have applied. */
export interface WantedHashes {
  readonly configurationHash: string;
  readonly secretsHash: string;
}

export interface FormationInput {
  readonly shards: number;
  readonly members: readonly MemberView[];
  readonly wanted: WantedHashes;
  /** Ids that are no member's, with how long each has been seen failed or unanswered. */
  readonly strangersForMs: ReadonlyMap<string, number>;
}
