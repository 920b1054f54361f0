/** What is known of the other agents from their messages: which boot of theirs is the present one. */
import { isClaim, type Message } from "./message.ts";

export interface Correspondent {
  readonly boot: string;
  /** The newest of our questions that this boot has answered: it was the present one after that question was sent. */
  readonly provenSeq: number;
  /** The newest claim of this boot; an older one that arrives late counts for nothing. */
  readonly claimSeq: number;
  /** Of its server, and when it was first heard of: what a replica acknowledged before that, an earlier run of it did. */
  readonly run: string;
  readonly runSince: number;
}

/** By the node's name. Made anew with most messages: a plain object is copied several times as fast as a map. */
export type Correspondents = Readonly<Record<string, Correspondent>>;

export const NOBODY_KNOWN: Correspondents = {};

export type Acquaintance =
  /** The message counts. */
  | { readonly known: Correspondents }
  /** It counts for nothing: it was overtaken. */
  | { readonly known: undefined; readonly prove: false }
  /** It is a claim of a boot that may be over or may be new: its node has to be asked which is the present one. */
  | { readonly known: undefined; readonly prove: true };

const OVERTAKEN: Acquaintance = { known: undefined, prove: false };
const UNPROVEN: Acquaintance = { known: undefined, prove: true };

/** A late claim of a boot that is over must not count, and boots have no order: only an answer tells which one lives. */
export function meet(all: Correspondents, message: Message, now: number): Acquaintance {
  const known = all[message.from];
  const runSince = known?.run === message.run ? known.runSince : now;
  const answered = "askedBy" in message ? message.seq : -1;
  if (known === undefined) return noted(all, message, { provenSeq: answered, claimSeq: -1, runSince });
  if (known.boot === message.boot) return meetAgain(all, message, { ...known, runSince });
  if (answered > known.provenSeq) return noted(all, message, { provenSeq: answered, claimSeq: -1, runSince });
  if (isClaim(message)) return UNPROVEN;
  return "askedBy" in message ? OVERTAKEN : { known: all };
}

function meetAgain(all: Correspondents, message: Message, known: Correspondent): Acquaintance {
  if (isClaim(message)) return message.seq <= known.claimSeq ? OVERTAKEN : noted(all, message, known);
  const provenSeq = "askedBy" in message ? Math.max(known.provenSeq, message.seq) : known.provenSeq;
  if (provenSeq === known.provenSeq && message.run === known.run) return { known: all };
  return noted(all, message, { ...known, provenSeq });
}

function noted(
  all: Correspondents,
  message: Message,
  { provenSeq, claimSeq, runSince }: Pick<Correspondent, "provenSeq" | "claimSeq" | "runSince">,
): Acquaintance {
  const { boot, run } = message;
  const next = { boot, run, runSince, provenSeq, claimSeq: isClaim(message) ? message.seq : claimSeq };
  return { known: { ...all, [message.from]: next } };
}
