import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { OwnRequestSchema } from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import { type ClusterNode, parseNodeLine, type Slots, slotRanges, slotSet } from "../../valkey/cluster-nodes.ts";
import { isValkeyError } from "../../valkey/valkey-error.ts";
import type { ClusterTable } from "./cluster-table.ts";
import { type OwnPlan, planOwn } from "./own-slots.ts";

const ID = "a".repeat(40);
const node = (id: string, changes: Partial<ClusterNode>): ClusterNode => ({
  ...parseNodeLine(`${id} 10.0.0.1:6379@16379 master - 0 0 1 connected`),
  ...changes,
});
const table = (changes: Partial<ClusterTable>): ClusterTable => ({
  runId: "run",
  myself: node(ID, { myself: true, configEpoch: 0n }),
  others: [],
  role: { role: "primary", offset: 0, replicas: [] },
  keys: 0n,
  currentEpoch: 5n,
  ...changes,
});
const request = (slots: readonly { first: number; last: number }[], configEpoch = 3n) =>
  create(OwnRequestSchema, { nodeId: ID, slots: [...slots], configEpoch });

test("a node that knows nobody gets its epoch by word; one that knows others takes a higher one by itself", () => {
  const slots = [{ first: 0, last: 9 }];
  expect(planOwn(request(slots), table({}))).toEqual({ missing: slots, unbind: [], epoch: "set" });
  expect(planOwn(request(slots, 0n), table({}))?.epoch).toBe("keep");
  const others = [node("b".repeat(40), { slots: [{ first: 10, last: 20 }] })];
  expect(planOwn(request(slots), table({ others }))?.epoch).toBe("bump");
});

test("slots of a lost node are taken only when no copy of them is left", () => {
  const slots = [{ first: 0, last: 9 }];
  const lost = node("b".repeat(40), { failed: true, connected: false, slots });
  expect(planOwn(request(slots), table({ others: [lost] }))).toEqual({ missing: slots, unbind: slots, epoch: "bump" });
  const replica = node("c".repeat(40), { role: "replica", primaryId: lost.id });
  expect(() => planOwn(request(slots), table({ others: [lost, replica] }))).toThrow("whose replica");
  const deadReplica = { ...replica, failed: true };
  expect(planOwn(request(slots), table({ others: [lost, deadReplica] }))?.unbind).toEqual(slots);
  const suspected = { ...lost, failed: false, suspected: true };
  expect(planOwn(request(slots), table({ others: [suspected] }))?.unbind).toEqual(slots);
  const silent = { ...lost, failed: false };
  expect(() => planOwn(request(slots), table({ others: [silent] }))).toThrow("which is there");
});

interface Case {
  readonly wanted: readonly Slots[];
  readonly mine: readonly Slots[];
  readonly others: readonly ClusterNode[];
  readonly keys: bigint;
}

/** Undefined when it is refused. */
function planned({ wanted, mine, others, keys }: Case): OwnPlan | undefined {
  try {
    const myself = node(ID, { myself: true, slots: mine });
    return planOwn(request(wanted), table({ myself, others, keys })) ?? { missing: [], unbind: [], epoch: "keep" };
  } catch (error) {
    if (isValkeyError(error, "unsafe")) return undefined;
    throw error;
  }
}

test("never takes a slot that a living node serves, never more or less than is missing", () => {
  const slots = fc.uniqueArray(fc.nat(40), { maxLength: 15 }).map(slotRanges);
  const other = fc.record({ slots, failed: fc.boolean(), role: fc.constantFrom("primary", "replica") });
  const others = fc
    .array(other, { maxLength: 3 })
    .map((list) => list.map((changes, index) => node(String(index).repeat(40), changes)));
  const property = fc.property(fc.record({ wanted: slots, mine: slots, others, keys: fc.bigInt(0n, 1n) }), (given) => {
    const plan = planned(given);
    if (plan === undefined) return;
    const missing = slotSet(plan.missing);
    const mine = slotSet(given.mine);
    const served = slotSet(given.others.filter(({ failed }) => !failed).flatMap((each) => each.slots));
    expect(missing.union(mine)).toEqual(slotSet(given.wanted).union(mine));
    expect([missing.isDisjointFrom(mine), mine.isSubsetOf(slotSet(given.wanted))]).toEqual([true, true]);
    expect([missing.isDisjointFrom(served), slotSet(plan.unbind).isSubsetOf(missing)]).toEqual([true, true]);
    expect(missing.size > 0 && mine.size === 0 ? given.keys : 0n).toBe(0n);
  });
  fc.assert(property);
});
