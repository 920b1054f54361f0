/** The holder: the agent of a primary renews the shard's lease with the voters and lets its server write only under it. */
import { type Context, hearers, isRunningPrimary, type Output } from "./context.ts";
import type { Correspondents } from "./correspondents.ts";
import type { Hold } from "./demand.ts";
import { type InSyncMember, type InSyncSet, type ShardMemory, sameMembers } from "./memory.ts";
import type { Granted, Refused } from "./message.ts";
import { type Line, question } from "./post.ts";
import { writeForMs } from "./timing.ts";

export interface Round {
  readonly seq: number;
  readonly sentAt: number;
  readonly inSync: InSyncSet;
  readonly asked: readonly string[];
  readonly grantedBy: readonly string[];
}

export interface HolderState {
  /** The run of the server that all this is about. */
  readonly run: string;
  /** Of a restarted agent: the end of the lease that it found. */
  readonly foundUntil: number;
  readonly rounds: readonly Round[];
  readonly leaseUntil: number;
  readonly renewedAt: number;
  readonly inSync: InSyncSet;
  readonly fenceAskedAt: number | undefined;
  readonly suspendedSince: number | undefined;
  readonly silentSince: number | undefined;
  /** Why a voter refused the newest renewal, as long as no majority has granted one since. */
  readonly hold: Hold | undefined;
}

/** What the holder needs to know of the other parts of its agent. */
export interface HolderView {
  /** Of its own shard, as its own voter has it. */
  readonly memory: ShardMemory;
  /** Among what is known of them is the run of each node's server, as its agent last said it. */
  readonly correspondents: Correspondents;
  /** Whether a handover has asked writes to wait, and whether it has given the lease away. */
  readonly writesWait: boolean;
  readonly gaveLeaseAway: boolean;
}

const ROUNDS_KEPT = 8;
const NEVER = Number.NEGATIVE_INFINITY;

/** A restarted agent finds the end of its lease on tmpfs; past it, it has a moment to get another before it fences. */
export function bornHolder(run: string, leaseUntil: number): HolderState {
  const inSync = { version: 0, members: [] };
  const watches = { fenceAskedAt: undefined, suspendedSince: undefined, silentSince: undefined, hold: undefined };
  return { run, foundUntil: leaseUntil, rounds: [], leaseUntil, renewedAt: NEVER, inSync, ...watches };
}

export function holdsLease({ now, server }: Context, holder: HolderState): boolean {
  return server.run === holder.run && isPrimary(server) && now < holder.leaseUntil;
}

/** A server that does not answer is what it was when it last did. */
function isPrimary({ phase, role }: Context["server"]): boolean {
  return role === "primary" && (phase === "running" || phase === "silent");
}

export function tickHolder(
  context: Context,
  line: Line,
  before: HolderState,
  view: HolderView,
): [HolderState, Output[]] {
  const fresh = before.run === context.server.run && isPrimary(context.server) && !view.gaveLeaseAway;
  const known = fresh ? before : { ...before, run: context.server.run, rounds: [], leaseUntil: NEVER };
  const watched = watchProcess(context, known);
  const [renewing, renewals] = fresh || isPrimary(context.server) ? renew(context, line, watched, view) : [watched, []];
  const [fencing, fences] = guardWrites(context, renewing, view);
  return [fencing, [...renewals, ...fences, ...killHung(context, fencing)]];
}

function watchProcess({ now, server }: Context, holder: HolderState): HolderState {
  const suspendedSince = server.suspended ? (holder.suspendedSince ?? now) : undefined;
  const silentSince = server.phase === "silent" ? (holder.silentSince ?? now) : undefined;
  if (suspendedSince === holder.suspendedSince && silentSince === holder.silentSince) return holder;
  return { ...holder, suspendedSince, silentSince };
}

function killHung({ now, rules }: Context, { suspendedSince, silentSince }: HolderState): Output[] {
  const { stoppedMs, silentMs, nodeTimeoutMs } = rules.timing;
  if (suspendedSince !== undefined && now - suspendedSince >= stoppedMs) {
    return [{ do: "kill", why: "the server's process is stopped by a signal" }];
  }
  if (silentSince !== undefined && now - silentSince >= Math.max(silentMs, nodeTimeoutMs)) {
    return [{ do: "kill", why: "the server has not answered for too long" }];
  }
  return [];
}

function renew(context: Context, line: Line, holder: HolderState, view: HolderView): [HolderState, Output[]] {
  if (view.gaveLeaseAway) return [holder, []];
  const inSync = currentInSync(context, holder, view);
  if (inSync === holder.inSync && context.now < nextRenewal(context, holder)) return [holder, []];
  const isCalm = inSync === holder.inSync && context.now < holder.leaseUntil;
  const asked = isCalm ? nextHearers(context, holder) : hearers(context);
  const round: Round = { seq: line.seq, sentAt: context.now, inSync, asked, grantedBy: [] };
  const rounds = [...holder.rounds.slice(-ROUNDS_KEPT), round];
  const outputs = asked.map((to) => question(context, line, to, { kind: "renew", inSync }));
  return [{ ...holder, rounds, inSync, renewedAt: context.now }, outputs];
}

/** Where only some were asked and too few of them have granted it, all are asked soon. */
export function nextRenewal(context: Context, { rounds, renewedAt, leaseUntil }: HolderState): number {
  const { renewEveryMs, retryEveryMs, secondAskMs } = context.rules.timing;
  if (context.now >= leaseUntil) return renewedAt + retryEveryMs;
  const last = rounds.at(-1);
  const askedSome = last !== undefined && last.asked.length < hearers(context).length;
  const isOpen = askedSome && last.grantedBy.length < context.rules.majority(context.deployment.voters.length);
  return renewedAt + (isOpen ? secondAskMs : renewEveryMs);
}

/**
 * While all answer, no more are asked in one round than make a majority, in turns: everybody hears of the lease in every
 * second round. As soon as one has not granted what it was asked for last, all are asked.
 */
function nextHearers(context: Context, { rounds }: HolderState): readonly string[] {
  const { deployment, rules, self } = context;
  const all = hearers(context);
  const latest = (node: string) => rounds.findLast(({ asked }) => asked.includes(node));
  const others = all.filter((node) => node !== self.node);
  if (!others.every((node) => latest(node)?.grantedBy.includes(node) === true)) return all;
  const before = rounds.at(-1)?.asked ?? [];
  const votes = deployment.voters.includes(self.node);
  const missing = rules.majority(deployment.voters.length) - Number(votes);
  const rested = others.filter((node) => !before.includes(node));
  const tired = others.filter((node) => before.includes(node));
  const voters = [...rested, ...tired].filter((node) => deployment.voters.includes(node)).slice(0, missing);
  const members = rested.filter((node) => !deployment.voters.includes(node));
  return [...(votes ? [self.node] : []), ...voters, ...members];
}

/** Changed only on the server's own answer: what it does not say has not changed. */
function currentInSync(context: Context, { inSync }: HolderState, { memory, correspondents }: HolderView): InSyncSet {
  if (!isRunningPrimary(context.server)) return inSync;
  const { inSyncLagMs } = context.rules.timing;
  const members = context.server.replicas.flatMap(({ node, online, behindMs, ackedAfter }): InSyncMember[] => {
    const { run = "", runSince = 0 } = correspondents[node] ?? {};
    // One that was started again may be heard of before its primary misses what it was.
    const isOfRun = run !== "" && ackedAfter > runSince;
    return online && behindMs <= inSyncLagMs && isOfRun ? [{ node, run }] : [];
  });
  const unchanged =
    inSync.version > 0 && inSync.version >= memory.inSync.version && sameMembers(members, inSync.members);
  return unchanged ? inSync : { version: Math.max(inSync.version, memory.inSync.version) + 1, members };
}

/** A lease lasts from the sending of the round that a majority granted. */
export function takeGrant(context: Context, holder: HolderState, { seq, from }: Granted): HolderState {
  const round = holder.rounds.find((sent) => sent.seq === seq);
  if (round === undefined || round.grantedBy.includes(from) || !context.deployment.voters.includes(from)) return holder;
  const granted = { ...round, grantedBy: [...round.grantedBy, from] };
  const rounds = holder.rounds.map((sent) => (sent.seq === seq ? granted : sent));
  const { rules, deployment } = context;
  if (granted.grantedBy.length < rules.majority(deployment.voters.length)) return { ...holder, rounds };
  const leaseUntil = Math.max(holder.leaseUntil, round.sentAt + writeForMs(rules.timing));
  return { ...holder, rounds, leaseUntil, hold: undefined };
}

export function takeRefusal(context: Context, holder: HolderState, { seq, from, hold }: Refused): HolderState {
  if (context.now < holder.leaseUntil || holder.rounds.at(-1)?.seq !== seq) return holder;
  return { ...holder, hold: { name: hold.name, reason: `${from} refuses the write lease: ${hold.reason}` } };
}

/** Writes only under the lease. A fence that the server does not confirm is replaced by its end. */
function guardWrites(context: Context, holder: HolderState, view: HolderView): [HolderState, Output[]] {
  const { server } = context;
  const mayWrite = holdsLease(context, holder) && server.phase === "running";
  if (mayWrite && !view.writesWait) {
    return [noFenceAsked(holder), server.fenced ? [{ do: "unfence", notAfter: holder.leaseUntil }] : []];
  }
  const mustStop = canWrite(context, holder) && (view.writesWait || !isReborn(context, holder));
  return mustStop ? fence(context, holder, view.memory, mayWrite) : [noFenceAsked(holder), []];
}

/** A server that starts in this time starts fenced. */
function isReborn({ now, rules }: Context, { foundUntil }: HolderState): boolean {
  return now < foundUntil + rules.timing.rebornMs;
}

/** Whether the server could take writes; while it is silent under its lease, there is nobody to be protected from it. */
export function canWrite({ server, now }: Context, { leaseUntil }: HolderState): boolean {
  if (server.phase === "silent") return !server.fenced && now >= leaseUntil;
  return !server.fenced && (server.phase === "running" || server.phase === "loading");
}

function noFenceAsked(holder: HolderState): HolderState {
  return holder.fenceAskedAt === undefined ? holder : { ...holder, fenceAskedAt: undefined };
}

function fence(
  { now, server, rules }: Context,
  holder: HolderState,
  memory: ShardMemory,
  mayWrite: boolean,
): [HolderState, Output[]] {
  const fenceAskedAt = holder.fenceAskedAt ?? now;
  const late = now - fenceAskedAt >= rules.timing.fenceConfirmMs && !mayWrite && isPrimary(server);
  const kill: Output = { do: "kill", why: "the server did not confirm that it refuses writes" };
  return [{ ...holder, fenceAskedAt }, [late && mayBeReplaced(holder, memory) ? kill : { do: "fence" }]];
}

/**
 * Where no copy is in sync, nobody is promoted beside this one: to end it would only throw away the only copy. What was
 * sent lately counts, whether it was granted or not; and what nobody knows may be anything.
 */
function mayBeReplaced({ inSync, rounds }: HolderState, memory: ShardMemory): boolean {
  const sets = [memory.inSync, inSync, ...rounds.map((round) => round.inSync)];
  return sets.some(({ members }) => members.length > 0) || sets.every(({ version }) => version === 0);
}
