/**
 * Which servers know each other as they are. One that was started again takes its cluster for well at first, and refuses all
 * requests some seconds later, when those whose new addresses it does not know have not been heard of. Who has not heard yet
 * that another is a replica, and whose, or of the newest epoch, would not elect it; and a vote goes over the voter's own
 * connection to the candidate: without one it is lost.
 */
import { ownsSlots } from "./member.ts";
import type { ClusterTable } from "./view.ts";

export function allAcquainted(tables: readonly ClusterTable[]): boolean {
  const roles = rolesOf(tables);
  const newest = newestEpoch(tables);
  return tables.every(
    (table) => table.currentEpoch === newest && knownAsTheyAre(table, roles).length >= roles.size - 1,
  );
}

/** Ids of the servers that could win an election: connected with every primary that answers, in both directions. */
export function electable(tables: readonly ClusterTable[]): ReadonlySet<string> {
  const primaries = tables.filter(ownsSlots);
  const roles = rolesOf(tables);
  const newest = newestEpoch(primaries);
  const primaryRoles = rolesOf(primaries);
  const knownBy = new Map<string, number>();
  for (const id of primaries.flatMap((primary) => knownAsTheyAre(primary, roles))) {
    knownBy.set(id, (knownBy.get(id) ?? 0) + 1);
  }
  const fit = tables.filter((table) => {
    const others = primaries.length - (primaryRoles.has(table.id) ? 1 : 0);
    const knows = knownAsTheyAre(table, primaryRoles).length;
    return table.currentEpoch >= newest && knows >= others && (knownBy.get(table.id) ?? 0) >= others;
  });
  return new Set(fit.map(({ id }) => id));
}

/** What each is, and for a replica of whom. */
type Roles = ReadonlyMap<string, Pick<ClusterTable, "role" | "primaryId">>;

function rolesOf(tables: readonly ClusterTable[]): Roles {
  return new Map(tables.map(({ id, role, primaryId }) => [id, { role, primaryId }]));
}

function newestEpoch(tables: readonly ClusterTable[]): number {
  return tables.reduce((newest, { currentEpoch }) => Math.max(newest, currentEpoch), 0);
}

function knownAsTheyAre({ nodes }: ClusterTable, roles: Roles): readonly string[] {
  return nodes.flatMap(({ id, role, primaryId, connected, failed, handshake }) => {
    const is = roles.get(id);
    const known = is !== undefined && is.role === role && is.primaryId === primaryId;
    return known && connected && !failed && !handshake ? [id] : [];
  });
}
