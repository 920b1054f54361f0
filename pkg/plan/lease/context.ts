/** What every rule may look at: who this agent is, what it sees of its server, what it was told, and the time. */
import type { Phase, Role, Standing } from "./copy.ts";
import type { RememberedShard } from "./memory.ts";
import type { Message } from "./message.ts";
import type { Rules } from "./rules.ts";

export interface Member {
  readonly node: string;
  readonly shard: number;
  readonly member: number;
}

export interface Self extends Member {
  /** New at every start of the agent. */
  readonly boot: string;
}

export interface Deployment {
  readonly shards: number;
  readonly members: readonly Member[];
  /** Whose agents grant leases. Changed by one at a time, and only when every agent knows of the change before. */
  readonly voters: readonly string[];
}

/** The agent's own server, as of a moment. */
export interface ServerSight {
  readonly phase: Phase;
  /** Whether the process is stopped by a signal (state T). */
  readonly suspended: boolean;
  readonly run: string;
  readonly role: Role | undefined;
  /** Whether it is known to refuse writes. */
  readonly fenced: boolean;
  readonly hasData: boolean;
  readonly dataEpoch: number;
  readonly offset: number;
  /** Of a server at the gate: whether it was the primary when it last ran. */
  readonly wasPrimary: boolean;
  /** Of a replica: the link is up, its first sync is done, and it has heard of its primary within a second or two. */
  readonly linkUp: boolean;
  /** Its cluster table: the epoch of its own shard, and which node owns the slots of each shard. */
  readonly tableEpoch: number;
  readonly owners: readonly (string | undefined)[];
  /** Of a primary: its replicas. */
  readonly replicas: readonly ReplicaSight[];
}

export interface ReplicaSight {
  readonly node: string;
  readonly online: boolean;
  /** It had everything that the primary had taken so long before this was seen. */
  readonly behindMs: number;
  /** It has surely acknowledged after that, on the agent's boot-time clock. */
  readonly ackedAfter: number;
}

export interface Context {
  readonly self: Self;
  readonly deployment: Deployment;
  readonly rules: Rules;
  readonly now: number;
  readonly server: ServerSight;
  /** Members whose copy is proven not to count and whose server is proven not to run. */
  readonly lost: ReadonlySet<string>;
  /** Members whose server the operator has proven not to run, whatever their copy is worth. */
  readonly stopped: ReadonlySet<string>;
  readonly leaving: boolean;
}

/** What to do. Commands to the server are repeated until it is seen that they were obeyed: doing one twice does no harm. */
export type Output =
  | { readonly do: "send"; readonly message: Message }
  /** Must be kept before anything that follows is sent. */
  | { readonly do: "persist"; readonly what: Persisted }
  | { readonly do: "fence" }
  /** Not carried out later than this. */
  | { readonly do: "unfence"; readonly notAfter: number }
  | { readonly do: "kill"; readonly why: string }
  /** Saves what is in memory and ends the server; the gate decides what comes then. */
  | { readonly do: "stop"; readonly why: string }
  | { readonly do: "promote"; readonly how: Promotion; readonly notAfter: number }
  | {
      readonly do: "open-gate";
      readonly as: Role;
      readonly of: string | undefined;
      /** Whether somebody leads the shard who has at least as much. */
      readonly led: boolean;
    }
  /** Whether that node's server answers at all. */
  | { readonly do: "probe"; readonly node: string }
  | { readonly do: "end-handover"; readonly result: HandoverResult };

/** A replica is elected, or takes over without a vote; a primary that was outranked raises its epoch. */
export type Promotion = "FORCE" | "TAKEOVER" | "RAISE";

export type HandoverResult = "handed-over" | "not-primary" | "no-replica-in-sync" | "gave-up";

/** What an agent finds again after a restart, on a tmpfs that lives as long as its pod. */
export interface Persisted {
  readonly leaseUntil: number;
  /** Until when the promises bind with which the own server's election was begun. */
  readonly electionUntil: number | undefined;
  readonly shards: readonly RememberedShard[];
}

export function majorityOf(count: number): number {
  return Math.floor(count / 2) + 1;
}

export function shardMembers({ deployment, self }: Context): readonly Member[] {
  return deployment.members.filter(({ shard }) => shard === self.shard);
}

export function shardPeers(context: Context): readonly Member[] {
  return shardMembers(context).filter(({ node }) => node !== context.self.node);
}

/** How many of the shard come before this one, by their numbers: which may be far apart. */
export function placeInShard(context: Context): number {
  return shardPeers(context).filter(({ member }) => member < context.self.member).length;
}

/** Who hears of a lease: the voters; and the shard's members, who must know of it whether they vote or not. */
export function hearers(context: Context): readonly string[] {
  const { voters } = context.deployment;
  const members = shardMembers(context).filter(({ node }) => !voters.includes(node));
  return [...voters, ...members.map(({ node }) => node)];
}

export function isRunningPrimary({ phase, role }: ServerSight): boolean {
  return phase === "running" && role === "primary";
}

export function standingOf({ self, server, leaving }: Context, holdsLease: boolean): Standing {
  const { phase, role, run, hasData, dataEpoch, offset, tableEpoch, linkUp, wasPrimary } = server;
  const { node, shard, member } = self;
  const primary = phase === "running" ? role === "primary" : wasPrimary;
  const place = { node, shard, member, leaving, holdsLease };
  return { ...place, phase, role, run, hasData, dataEpoch, offset, tableEpoch, linkUp, primary };
}
