/**
 * Which servers know each other as they are. One that was started again takes its cluster for well at first, and refuses all
 * requests some seconds later, when those whose new addresses it does not know have not been heard of. Who has not heard yet
 * that another is a replica, and whose, or of the newest epoch, would not elect it; and a vote goes over the voter's own
 * connection to the candidate: without one, or over one to the address that it had before, it is lost.
 */
import { ownsSlots, tableOf } from "./member.ts";
import type { ClusterTable, MemberView } from "./view.ts";

/** Whether all members run and know each other. */
export function allAcquainted(members: readonly MemberView[]): boolean {
  const all = runningOf(members);
  const [newest, byId] = [newestEpoch(all), byIdOf(all)];
  const knows = ({ table }: Running) => knownAsTheyAre(table, byId).length >= all.length - 1;
  return all.length === members.length && all.every((one) => one.table.currentEpoch === newest && knows(one));
}

/** Ids of the servers that could win an election: connected with every primary that answers, in both directions. */
export function electable(members: readonly MemberView[]): ReadonlySet<string> {
  const all = runningOf(members);
  const primaries = all.filter(({ table }) => ownsSlots(table));
  const newest = newestEpoch(primaries);
  const [anybody, primary] = [byIdOf(all), byIdOf(primaries)];
  const knownBy = new Map<string, number>();
  for (const id of primaries.flatMap(({ table }) => knownAsTheyAre(table, anybody))) {
    knownBy.set(id, (knownBy.get(id) ?? 0) + 1);
  }
  const fit = all.filter(({ table }) => {
    const others = primaries.length - (primary.has(table.id) ? 1 : 0);
    const knows = knownAsTheyAre(table, primary).length;
    return table.currentEpoch >= newest && knows >= others && (knownBy.get(table.id) ?? 0) >= others;
  });
  return new Set(fit.map(({ table }) => table.id));
}

interface Running {
  readonly table: ClusterTable;
  /** Of its pod. */
  readonly ip: string | undefined;
}

function runningOf(members: readonly MemberView[]): readonly Running[] {
  return members.flatMap((member) => {
    const table = tableOf(member);
    return table === undefined ? [] : [{ table, ip: member.ip }];
  });
}

function newestEpoch(all: readonly Running[]): number {
  return all.reduce((newest, { table }) => Math.max(newest, table.currentEpoch), 0);
}

type ById = ReadonlyMap<string, Running>;

function byIdOf(all: readonly Running[]): ById {
  return new Map(all.map((one) => [one.table.id, one]));
}

/** Of these, whom a table has as what they are, where they are, and connected. */
function knownAsTheyAre({ nodes }: ClusterTable, byId: ById): readonly string[] {
  return nodes.flatMap(({ id, ip, role, primaryId, connected, failed, handshake }) => {
    const is = byId.get(id);
    const known = is !== undefined && is.table.role === role && is.table.primaryId === primaryId && is.ip === ip;
    return known && connected && !failed && !handshake ? [id] : [];
  });
}
