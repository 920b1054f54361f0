/**
 * What one shard needs next: an owner of its slots when nobody has data, a promotion when its primary is proven stopped,
 * followers when it is led. Shards go each by itself.
 */
import { isSpare } from "../objects/members.ts";
import { copyOf, newerFirst } from "./copy.ts";
import { isLost, isProvenStopped, ownsSlots, stateOf, tableOf } from "./member.ts";
import { overlaps, type SlotRange, slotsOfShard, slotsText, without } from "./slots.ts";
import type { FollowStep, FormationHold, FormationStep, OwnStep } from "./step.ts";
import type { ClusterTable, FormationInput, MemberView } from "./view.ts";

/** Slots and roles are not given out on answers older than this. */
export const FRESH_MS = 5000;
/** How long a new shard waits for its first member once that has answered. */
const FIRST_MEMBER_MS = 30_000;

export interface ShardPlan {
  readonly index: number;
  /** Whether exactly one of its members owns slots. */
  readonly led: boolean;
  readonly steps: readonly FormationStep[];
  readonly holds: readonly FormationHold[];
  /** A promotion that the cluster as a whole has to allow. */
  readonly promotion?: Promotion | undefined;
}

export interface Promotion {
  readonly node: string;
  readonly table: ClusterTable;
  readonly primaryId: string;
}

/** A member whose server answers. */
export interface Runner {
  readonly member: MemberView;
  readonly table: ClusterTable;
}

export function runnersOf(members: readonly MemberView[]): readonly Runner[] {
  return members.flatMap((member) => {
    const table = tableOf(member);
    return table === undefined ? [] : [{ member, table }];
  });
}

/** The whole cluster, looked at once for all shards. */
export interface Scene extends FormationInput {
  readonly runners: readonly Runner[];
  readonly byShard: ReadonlyMap<number, readonly MemberView[]>;
  /** Slots by whom they are owned in its own view. */
  readonly owned: readonly { readonly shard: number; readonly slots: readonly SlotRange[] }[];
}

export function sceneOf(input: FormationInput): Scene {
  const runners = runnersOf(input.members);
  const owners = runners.filter(({ table }) => ownsSlots(table));
  return {
    ...input,
    runners,
    byShard: Map.groupBy(input.members, ({ shard }) => shard),
    owned: owners.map(({ member, table }) => ({ shard: member.shard, slots: table.slots })),
  };
}

export function planShard(input: Scene, index: number): ShardPlan {
  const members = input.byShard.get(index) ?? [];
  const owners = runnersOf(members).filter(({ table }) => ownsSlots(table));
  const [owner] = owners;
  const say = (name: string, reason: string): FormationHold => ({
    name,
    reason: `shard ${index}: ${reason}`,
    shard: index,
  });
  if (owner === undefined) return { index, led: false, ...leaderless({ input, index, members, say }) };
  if (owners.length > 1) {
    const names = owners.map(({ member }) => member.name).join(" and ");
    const hold = say("two-primaries", `${names} both own slots; the one with the higher epoch wins when they have met`);
    return { index, led: false, steps: [], holds: [hold] };
  }
  return { index, led: true, ...followers({ input, index, members, say }, owner) };
}

interface Work {
  readonly input: Scene;
  readonly index: number;
  readonly members: readonly MemberView[];
  readonly say: (name: string, reason: string) => FormationHold;
}

type Outcome = Pick<ShardPlan, "steps" | "holds" | "promotion">;

const held = (hold: FormationHold): Outcome => ({ steps: [], holds: [hold] });

/** Everybody follows the owner as soon as they have met. */
function followers(work: Work, owner: Runner): Outcome {
  const others = runnersOf(work.members).filter(({ member }) => member !== owner.member);
  const strays = others.filter(({ table }) => table.role !== "replica" || table.primaryId !== owner.table.id);
  const steps: FollowStep[] = [];
  const holds: FormationHold[] = [];
  for (const stray of strays) {
    const hold = followHold(work, stray, owner);
    if (hold !== undefined) holds.push(hold);
    else if (haveBegunToMeet(stray, owner)) steps.push(follow(stray, owner.table.id));
  }
  const range = slotsOfShard(work.index, work.input.shards);
  const own = without(range, owner.table.slots);
  const unserved = own.flatMap((part) => without(part, ownedByOthers(work.input, work.index)));
  if (unserved.length > 0) {
    const owner = `nobody owns slots ${slotsText(unserved)} any more, and keys of theirs may be there`;
    holds.push(work.say("slots-unserved", `${owner}; give them back with CLUSTER ADDSLOTSRANGE on its primary`));
  }
  return { steps: steps.filter(({ node }) => isFree(work, node)), holds };
}

function followHold({ say, input }: Work, stray: Runner, owner: Runner): FormationHold | undefined {
  const { member, table } = stray;
  const uninformed = isSpare(member) ? input.members.find((other) => !knowsAll(other, input)) : undefined;
  if (uninformed !== undefined) {
    return say("all-know-the-spare", `${uninformed.name} has not heard of ${member.name} yet, which may lead one day`);
  }
  if (member.recordedId !== table.id) return say("id-not-recorded", `${member.name} is not on record with its id yet`);
  const own = table.role === "primary" && (stateOf(member)?.keys ?? 0) > 0;
  if (!own || table.configEpoch < owner.table.configEpoch) return undefined;
  return say(
    "data-in-the-way",
    `${member.name} has keys of its own beside ${owner.member.name}, which leads; look at them, then FLUSHALL ${member.name} to let it follow`,
  );
}

/** Whether its agent has the newest configuration: who does not know of a copy could take an older one for the newest. */
function knowsAll(member: MemberView, { wanted }: Scene): boolean {
  return stateOf(member)?.applied.configurationHash === wanted.configurationHash;
}

function follow({ member, table }: Runner, primaryId: string): FollowStep {
  return { do: "follow", node: member.name, lane: member.name, nodeId: table.id, primaryId };
}

function isFree({ members }: Work, node: string): boolean {
  return members.every(({ name, busy }) => name !== node || busy === undefined);
}

/** Its agent waits until it has heard of the owner's slots: the next answer of that agent would tell a little later. */
function haveBegunToMeet(stray: Runner, owner: Runner): boolean {
  return isIntroduced(stray, owner) || isIntroduced(owner, stray);
}

function isIntroduced({ table }: Runner, { member: { ip }, table: { id } }: Runner): boolean {
  return table.nodes.some((node) => node.id === id || (node.handshake && node.ip === ip));
}

/** Nobody of the shard owns slots. */
function leaderless(work: Work): Outcome {
  const missing = unsettled(work);
  if (missing !== undefined) return held(missing);
  const candidate = newestReplica(work);
  if (candidate !== undefined) return promote(work, candidate);
  const keeper = work.members.find((member) => copyOf(member)?.hasData === true);
  if (keeper !== undefined) return held(dataHold(work, keeper));
  const owner = work.members.find((member) => isProvenStopped(member) && copyOf(member)?.primary === true);
  if (owner !== undefined)
    return held(work.say("owner-at-the-gate", `${owner.name} owns its slots and has to start first${gateText(owner)}`));
  return begin(work);
}

/** Every member of the shard has to have answered lately, or be lost; and to be up or proven stopped. */
function unsettled({ members, say }: Work): FormationHold | undefined {
  for (const member of members) {
    const { contact, name } = member;
    if (isLost(member)) continue;
    if (contact.known !== "answer") return say("member-unreachable", whyUnreachable(member));
    if (contact.ageMs > FRESH_MS) return say("answer-too-old", `${name} has to be asked again`);
    if (isProvenStopped(member) || tableOf(member) !== undefined) continue;
    return say("server-not-up", `the server of ${name} is ${contact.state.phase}`);
  }
  return undefined;
}

function whyUnreachable({ name, contact, podRuns, recordedId, oldVolume }: MemberView): string {
  if (!podRuns && recordedId === undefined && !oldVolume) return `the pod of ${name} does not run yet`;
  if (!podRuns) return `${name} has no running pod, and its copy of the data may be the newest`;
  const why = contact.known === "unreachable" ? `: ${contact.why}` : "";
  return `the agent of ${name} does not answer${why}`;
}

function newestReplica({ members }: Work): Runner | undefined {
  const replicas = runnersOf(members).filter(({ table }) => table.role === "replica");
  return replicas.toSorted((a, b) => compareCopies(a.member, b.member))[0];
}

function compareCopies(a: MemberView, b: MemberView): number {
  const [left, right] = [copyOf(a), copyOf(b)];
  if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
  return newerFirst(left, right);
}

function promote(work: Work, candidate: Runner): Outcome {
  const { say, input, members } = work;
  const { member, table } = candidate;
  const { primaryId } = table;
  const running = input.members.find((other) => mayRunAs(other, primaryId));
  if (running !== undefined)
    return held(say("primary-elsewhere", `${member.name} follows ${running.name}, which owns no slots here`));
  const newer = members.find((other) => other !== member && compareCopies(other, member) < 0);
  if (newer !== undefined) {
    return held(
      say("newer-copy", `${newer.name} has a newer copy than ${member.name} and has to start first${gateText(newer)}`),
    );
  }
  if (!isFree(work, member.name)) return { steps: [], holds: [] };
  return { steps: [], holds: [], promotion: { node: member.name, table, primaryId } };
}

/** Whether the server with this id could be running: it is this member's, and the member does not prove otherwise. */
function mayRunAs(member: MemberView, id: string): boolean {
  const state = stateOf(member);
  if (state === undefined) return member.recordedId === id && !isLost(member);
  return !isProvenStopped(member) && state.cluster?.id === id;
}

function gateText(member: MemberView): string {
  const waitsFor = stateOf(member)?.waitsFor ?? "";
  return waitsFor === "" ? "" : `, at its gate: ${waitsFor}`;
}

function dataHold({ say }: Work, keeper: MemberView): FormationHold {
  if (tableOf(keeper) === undefined)
    return say("data-at-the-gate", `${keeper.name} has data and has to start first${gateText(keeper)}`);
  return say(
    "data-without-slots",
    `${keeper.name} has keys, but nobody owns their slots; give them back with CLUSTER ADDSLOTS on it, or FLUSHALL it to begin empty`,
  );
}

/** Nobody has data: the first that runs, is on record and can, owns the shard's slots. */
function begin(work: Work): Outcome {
  const { members, say, index, input } = work;
  const first = firstToOwn(work);
  if (first === undefined) {
    return held(say("no-server-yet", `no server runs yet${members.map(gateText).find((text) => text !== "") ?? ""}`));
  }
  const { member, table } = first;
  const lower = members.find((other) => other.member < member.member && startsSoon(other));
  if (lower !== undefined) return held(say("first-member-starts", `${lower.name} is about to start and comes first`));
  if (member.recordedId !== table.id)
    return held(say("id-not-recorded", `${member.name} is not on record with its id yet`));
  const slots = without(slotsOfShard(index, input.shards), ownedByOthers(input, index));
  if (slots.length === 0) return held(say("no-slots-left", "all its slots are owned by other shards"));
  const away = input.members.find((other) =>
    ownersOf(input, slots).some((id) => id !== table.id && mayRunAs(other, id)),
  );
  if (away !== undefined) return held(say("slots-elsewhere", `${away.name} is said to own its slots`));
  if (!isFree(work, member.name)) return { steps: [], holds: [] };
  const dead = table.nodes.find((node) => !node.handshake && slots.some((range) => overlaps(node.slots, range)));
  // It has met the others already, and they say that a server which is gone owns the slots: only a replica of that one
  // can take them over. It has nothing to lose, nor has anybody else.
  if (dead !== undefined) return { steps: [follow(first, dead.id)], holds: [] };
  return { steps: [own(first, slots, nextEpoch(input) + index)], holds: [] };
}

/** Primaries are spread over zones as members of number 0: in a new shard that one is given a little time. */
function startsSoon(member: MemberView): boolean {
  return stateOf(member) !== undefined && tableOf(member) === undefined && member.wantedForMs < FIRST_MEMBER_MS;
}

/** The one that the others still take for the owner, else the lowest. */
function firstToOwn({ input, index, members }: Work): Runner | undefined {
  const owners = new Set(ownersOf(input, [slotsOfShard(index, input.shards)]));
  const known = ({ table }: Runner) => Number(owners.has(table.id));
  return runnersOf(members).toSorted((a, b) => known(b) - known(a) || a.member.member - b.member.member)[0];
}

/** Whom anybody takes for an owner of any of these slots. */
function ownersOf({ runners }: Scene, ranges: readonly SlotRange[]): readonly string[] {
  return runners.flatMap(({ table }) =>
    [table, ...table.nodes].filter(({ slots }) => ranges.some((range) => overlaps(slots, range))).map(({ id }) => id),
  );
}

function own({ member, table }: Runner, slots: readonly SlotRange[], configEpoch: number): OwnStep {
  return { do: "own", node: member.name, lane: member.name, nodeId: table.id, slots, configEpoch };
}

function ownedByOthers({ owned }: Scene, index: number): readonly SlotRange[] {
  return owned.filter(({ shard }) => shard !== index).flatMap(({ slots }) => slots);
}

/**
 * Above everything that anybody has seen: a claim to slots that a dead server held has to win, and agents give no lease to
 * an epoch below one that they remember.
 */
function nextEpoch({ members, runners }: Scene): number {
  const seen = runners.map(({ table }) => table.currentEpoch);
  const saved = members.map((member) => copyOf(member)?.epoch ?? 0);
  const leased = members.map((member) => stateOf(member)?.leaseEpoch ?? 0);
  return Math.max(0, ...seen, ...saved, ...leased) + 1;
}
