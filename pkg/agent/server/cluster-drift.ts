/**
 * What a stranger did to a node's place in its cluster: CLUSTER RESET, FORGET or DELSLOTS. A node that knows another is
 * compared with what it knew when it was last looked at. Nothing is put back here: the operator forms the cluster, and
 * does so again from the states that the agents report.
 */
import { type ClusterNode, type Slots, slotRanges, slotSet } from "../../valkey/cluster-nodes.ts";
import type { ClusterTable } from "./cluster-table.ts";

/** After this long it is how things are, and the operator has had its chance. */
const TOLD_FOR_MS = 300_000;

export class ClusterWatch {
  #last: ClusterTable | undefined;
  /** Names of what is missing and since when, until it is there again. */
  readonly #missing = new Map<string, number>();

  /** Steps that we take ourselves are no drift. */
  expectChange(): void {
    this.#last = undefined;
    this.#missing.clear();
  }

  /** What was changed by somebody else and is not as it was again: ids of nodes, or `slots 0-99`. */
  see(table: ClusterTable, now: number): readonly string[] {
    const last = this.#last;
    // A server that was started again may have been given a new table on purpose.
    if (last === undefined || last.runId !== table.runId || last.myself.id !== table.myself.id) this.#missing.clear();
    this.#last = table;
    for (const name of last === undefined ? [] : lost(last, table)) this.#missing.set(name, now);
    for (const [name, since] of this.#missing) {
      if (isBack(name, table) || now - since > TOLD_FOR_MS) this.#missing.delete(name);
    }
    return [...this.#missing.keys()];
  }
}

function lost(last: ClusterTable, table: ClusterTable): readonly string[] {
  if (last.runId !== table.runId) return [];
  if (last.myself.id !== table.myself.id) return [table.myself.id];
  return [...lostNodes(last, table), ...lostSlots(last, table)];
}

/** Nodes that were well and are not known any more; that a dead one is forgotten is how it should be. */
function lostNodes(last: ClusterTable, { others }: ClusterTable): readonly string[] {
  const known = new Set(others.map(({ id }) => id));
  return last.others.filter((node) => wasWell(node) && !known.has(node.id)).map(({ id }) => id);
}

function wasWell({ failed, suspected, handshake, noAddress, connected }: ClusterNode): boolean {
  return connected && !failed && !suspected && !handshake && !noAddress;
}

/** Slots that the node owned and that nobody owns now; those with a new owner were moved or failed over. */
function lostSlots(last: ClusterTable, { myself, others }: ClusterTable): readonly string[] {
  if (sameRanges(last.myself.slots, myself.slots)) return [];
  const lost = slotSet(last.myself.slots)
    .difference(slotSet(myself.slots))
    .difference(slotSet(others.flatMap(({ slots }) => slots)));
  return slotRanges(lost).map(({ first, last: end }) => `slots ${first}-${end}`);
}

function sameRanges(a: readonly Slots[], b: readonly Slots[]): boolean {
  return a.length === b.length && a.every(({ first, last }, at) => b[at]?.first === first && b[at]?.last === last);
}

function isBack(name: string, { myself, others }: ClusterTable): boolean {
  const range = /^slots (?<first>\d+)-(?<last>\d+)$/u.exec(name)?.groups;
  if (range === undefined) return name !== myself.id && others.some(({ id }) => id === name);
  const owned = slotSet([...myself.slots, ...others.flatMap(({ slots }) => slots)]);
  return owned.has(Number(range["first"])) && owned.has(Number(range["last"]));
}
