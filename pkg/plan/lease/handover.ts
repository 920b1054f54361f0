/** The handover: a primary that is to go gives its place to the replica that has everything. */
import { type Context, type HandoverResult, hearers, isRunningPrimary, type Output } from "./context.ts";
import type { Standing } from "./copy.ts";
import { firstUnmet, type Hold } from "./demand.ts";
import { type Line, question } from "./post.ts";

export interface HandoverState {
  readonly stage: "none" | "choosing" | "catching-up" | "given-away";
  readonly since: number;
  /** How far the data was when it began: who has that gets the stream of writes, and will soon have the rest. */
  readonly offset: number;
  /** Who is to lead; undefined for the one with the newest copy. */
  readonly wanted: string | undefined;
  readonly successor: string | undefined;
  /** When the server was first known to refuse writes, and how far it was then: its last word. */
  readonly fencedAt: number | undefined;
  readonly releasedAt: number;
  readonly hold: Hold | undefined;
}

export const NO_HANDOVER: HandoverState = {
  stage: "none",
  since: 0,
  offset: 0,
  wanted: undefined,
  successor: undefined,
  fencedAt: undefined,
  releasedAt: Number.NEGATIVE_INFINITY,
  hold: undefined,
};

export interface HandoverFacts {
  readonly context: Context;
  readonly own: Standing;
  readonly successor: Standing | undefined;
  readonly fencedAt: number | undefined;
}

type Step = [HandoverState, Output[]];

export function beginHandover(context: Context, before: HandoverState, wanted: string | undefined): Step {
  if (before.stage !== "none") return [before, []];
  if (!isRunningPrimary(context.server)) return [before, [ended("not-primary")]];
  const { offset } = context.server;
  return [{ ...NO_HANDOVER, stage: "choosing", since: context.now, offset, wanted }, []];
}

/** Whether writes wait: from the choice of a successor on. */
export function writesWait({ stage }: HandoverState): boolean {
  return stage === "catching-up" || stage === "given-away";
}

/** `peers` as asked since the server refuses writes, once it does: only such an answer shows that nothing more will come. */
export function tickHandover(
  context: Context,
  line: Line,
  handover: HandoverState,
  peers: ReadonlyMap<string, Standing>,
): Step {
  if (handover.stage === "none") return [handover, []];
  if (!isRunningPrimary(context.server)) return [NO_HANDOVER, [ended("handed-over")]];
  switch (handover.stage) {
    case "choosing":
      return choose(context, handover, peers);
    case "catching-up":
      return catchUp(context, line, handover, peers);
    case "given-away":
      return awaitSuccessor(context, line, handover);
  }
}

/**
 * A replica whose first sync has just ended has what there was when it began, and gets the rest only after its next word to
 * the primary, up to a second later: writes do not wait for that.
 */
function choose(context: Context, handover: HandoverState, peers: ReadonlyMap<string, Standing>): Step {
  const { wanted, offset, since } = handover;
  const { answerFreshMs, streamingMs } = context.rules.timing;
  const fit = [...peers.values()].filter((peer) => isFit(context, peer) && (wanted ?? peer.node) === peer.node);
  const [best] = fit.toSorted((a, b) => b.offset - a.offset || a.member - b.member);
  const passed = context.now - since;
  if (best === undefined) return passed < answerFreshMs ? [handover, []] : [NO_HANDOVER, [ended("no-replica-in-sync")]];
  if (best.offset < offset && passed < streamingMs) return [handover, []];
  return [{ ...handover, stage: "catching-up", successor: best.node, since: context.now }, []];
}

function isFit({ server }: Context, { phase, role, linkUp, leaving, dataEpoch, hasData }: Standing): boolean {
  const inSync = linkUp && dataEpoch === server.dataEpoch && (hasData || !server.hasData);
  return phase === "running" && role === "replica" && inSync && !leaving;
}

function catchUp(context: Context, line: Line, before: HandoverState, peers: ReadonlyMap<string, Standing>): Step {
  const handover = { ...before, fencedAt: before.fencedAt ?? (context.server.fenced ? context.now : undefined) };
  if (context.now - handover.since > context.rules.timing.handoverMs) return [NO_HANDOVER, [ended("gave-up")]];
  const successor = handover.successor === undefined ? undefined : peers.get(handover.successor);
  const own = { ...context.self, ...context.server, primary: true, holdsLease: true, leaving: true };
  const hold = firstUnmet(context.rules.handover, { context, own, successor, fencedAt: handover.fencedAt });
  if (hold !== undefined) return [{ ...handover, hold }, []];
  return awaitSuccessor(context, line, { ...handover, stage: "given-away", since: context.now, hold: undefined });
}

/** Repeats the release until the successor leads, or until an election that it began can no longer be won. */
function awaitSuccessor(context: Context, line: Line, handover: HandoverState): Step {
  const { handoverMs, failoverTimeoutMs, askEveryMs } = context.rules.timing;
  if (context.now - handover.since > handoverMs + failoverTimeoutMs) return [NO_HANDOVER, [ended("gave-up")]];
  if (context.now - handover.since > handoverMs / 2 || context.now - handover.releasedAt < askEveryMs)
    return [handover, []];
  const { successor } = handover;
  const body = { kind: "release" as const, successor, offset: context.server.offset, stopped: false };
  const outputs = hearers(context).map((to) => question(context, line, to, body));
  return [{ ...handover, releasedAt: context.now }, outputs];
}

function ended(result: HandoverResult): Output {
  return { do: "end-handover", result };
}
