/** What agents of one deployment say to each other about leases. Each question and its answer are one call. */
import type { Standing } from "./copy.ts";
import type { Hold } from "./demand.ts";
import type { InSyncSet, RememberedShard, ShardMemory } from "./memory.ts";

export interface Envelope {
  readonly from: string;
  readonly to: string;
  /** Of the sending agent: new at every start of it. */
  readonly boot: string;
  /** Of the sender's server; empty when none runs. */
  readonly run: string;
  readonly shard: number;
  /** The shard's epoch as the sender knows it. */
  readonly epoch: number;
  /** Grows with every question of a boot; an answer repeats its question's. */
  readonly seq: number;
}

export interface Renew extends Envelope {
  readonly kind: "renew";
  readonly inSync: InSyncSet;
}

/** Asks for the promise that the lease is the candidate's, if it is to replace a primary. */
export interface Ask extends Envelope {
  readonly kind: "ask";
}

/** The holder, or who was promised the lease, gives it up: to a successor, or to whoever may have it. */
export interface Release extends Envelope {
  readonly kind: "release";
  readonly successor: string | undefined;
  /** How far the successor must be. */
  readonly offset: number;
  /** The server that wrote under this lease has ended: its process is gone. */
  readonly stopped: boolean;
}

export interface AskStanding extends Envelope {
  readonly kind: "ask-standing";
}

/** A voter that remembers nothing asks the others what was granted. */
export interface AskMemory extends Envelope {
  readonly kind: "ask-memory";
}

interface Answer extends Envelope {
  /** The boot that asked: an answer to an earlier one counts for nothing. */
  readonly askedBy: string;
}

export interface Granted extends Answer {
  readonly kind: "granted";
}

export interface Promised extends Answer {
  readonly kind: "promised";
  readonly memory: ShardMemory;
  /** Who has the lease of each shard, as far as this voter granted it: a leader that the candidate's table may not know. */
  readonly holders: readonly string[];
  /** The voter's own server, for whether enough primaries run to elect one. */
  readonly standing: Standing;
}

export interface Refused extends Answer {
  readonly kind: "refused";
  readonly hold: Hold;
}

export interface TellStanding extends Answer {
  readonly kind: "standing";
  readonly standing: Standing;
}

export interface TellMemory extends Answer {
  readonly kind: "memory";
  readonly remembers: boolean;
  /** Whether nothing counts for the sender that an earlier boot of the asker has granted. */
  readonly disregards: boolean;
  readonly shards: readonly RememberedShard[];
}

export type Question = Renew | Ask | Release | AskStanding | AskMemory;
export type Reply = Granted | Promised | Refused | TellStanding | TellMemory;
export type Message = Question | Reply;

/** What changes who may have a lease: only the newest of a boot counts, however late another arrives. */
export function isClaim(message: Message): message is Renew | Ask | Release {
  return message.kind === "renew" || message.kind === "ask" || message.kind === "release";
}
