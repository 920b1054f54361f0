/**
 * Who has to be introduced to whom. Up to a few dozen nodes everybody to everybody, which is the fastest; beyond that to
 * a few seeds, and gossip does the rest. A node that is known under an address which it no longer has counts as unknown.
 */
import { isBlank, ownsSlots } from "./member.ts";
import type { Runner } from "./shard.ts";
import type { MeetStep } from "./step.ts";
import type { ClusterTable, MemberView } from "./view.ts";

const ALL_PAIRS_UP_TO = 30;
const SEEDS = 3;

/**
 * A node that knows nobody stays alone until its shard has an owner: it may be the one that is to own, and a claim to
 * slots can only be given its epoch while it knows nobody.
 */
export function planMeetings(runners: readonly Runner[], ledShards: ReadonlySet<number>): readonly MeetStep[] {
  const guests = runners.filter(
    ({ member }) => member.ip !== undefined && (ledShards.has(member.shard) || !isBlank(member)),
  );
  const few = guests.length <= ALL_PAIRS_UP_TO;
  const seeds = new Set(few ? guests : guests.slice(0, SEEDS));
  return guests.flatMap((host, position) => {
    const strangers = seeds.has(host)
      ? guests.filter((guest, at) => isStranger(host, guest, few && at < position))
      : [];
    const told = guests.filter(
      (guest) =>
        (few || guest.member.shard === host.member.shard) && (isDeaf(host, guest) || isMisled(host, guest, ledShards)),
    );
    return meeting(host, [...new Set([...strangers, ...told])]);
  });
}

function meeting({ member: { name, busy } }: Runner, guests: readonly Runner[]): readonly MeetStep[] {
  if (busy !== undefined || guests.length === 0) return [];
  return [{ do: "meet", node: name, lane: name, peers: guests.map(({ member }) => member.name) }];
}

/** One introduction serves both. */
function isStranger(host: Runner, guest: Runner, introducedByGuest: boolean): boolean {
  return guest !== host && !introducedByGuest && !haveMet(host, guest);
}

/**
 * Knows the owner and has not heard of its slots. That comes with the owner's next ping, in a second or three; a second
 * MEET of the owner says it at once.
 */
function isDeaf(owner: Runner, guest: Runner): boolean {
  if (!ownsSlots(owner.table) || shakesHands(guest.table, owner.member.ip)) return false;
  const known = guest.table.nodes.find(({ id }) => id === owner.table.id);
  return known !== undefined && !known.handshake && known.slots.length === 0;
}

/** Others need a moment to say that they have heard of it. */
const TOLD_MS = 200;

/**
 * Takes a replica for what it was before, or does not know whose it is, and would not vote for it. That, too, comes with a
 * ping. Who has just become a replica is waited for: an introduction costs the two their connection for a moment. That is
 * why a shard that nobody leads is left alone but for the role: its replica needs its connections, to be elected.
 */
function isMisled(replica: Runner, guest: Runner, ledShards: ReadonlySet<number>): boolean {
  const { table, member } = replica;
  if (table.role !== "replica" || !isSteady(member) || shakesHands(guest.table, member.ip)) return false;
  const known = guest.table.nodes.find(({ id }) => id === table.id);
  if (known === undefined || known.handshake) return false;
  if (known.role !== "replica") return true;
  // Who has never heard of the primary does not learn of it from its replica.
  const knowsPrimary = [guest.table, ...guest.table.nodes].some(({ id }) => id === table.primaryId);
  return knowsPrimary && ledShards.has(member.shard) && known.primaryId !== table.primaryId;
}

function isSteady({ contact }: MemberView): boolean {
  return contact.known === "answer" && contact.steadyMs >= TOLD_MS;
}

function haveMet(a: Runner, b: Runner): boolean {
  // A handshake ends by itself: with two nodes that know each other, or with nothing.
  if (shakesHands(a.table, b.member.ip) || shakesHands(b.table, a.member.ip)) return true;
  return knowsAt(a.table, b) && knowsAt(b.table, a);
}

function knowsAt(table: ClusterTable, { table: { id }, member: { ip } }: Runner): boolean {
  return table.nodes.some((node) => node.id === id && node.ip === ip && !node.handshake);
}

function shakesHands({ nodes }: ClusterTable, ip: string | undefined): boolean {
  return nodes.some((node) => node.handshake && node.ip === ip);
}
