import { expect, test } from "bun:test";
import { allAcquainted, electable } from "./acquainted.ts";
import { knownNode, running } from "./test-members.ts";
import type { KnownNode, MemberView } from "./view.ts";

const ROLES = ["primary", "primary", "replica"] as const;

/** Of whom the third is a replica. */
const PRIMARIES = ["", "", "id0"] as const;

/** Two primaries and a replica that know each other, but for what `change` says of how one sees another. */
function tables(change: (from: number, to: number) => Partial<KnownNode> = () => ({}), epochs = [7, 7, 7]) {
  return ROLES.map((role, from): MemberView => {
    const nodes = ROLES.flatMap((other, to) =>
      to === from ? [] : [knownNode(to, { role: other, primaryId: PRIMARIES[to] ?? "", ...change(from, to) })],
    );
    const slots = role === "primary" ? [{ first: from, last: from }] : [];
    return running(from, { role, primaryId: PRIMARIES[from] ?? "", slots, currentEpoch: epochs[from] ?? 0, nodes });
  });
}

const one = (from: number, to: number, what: Partial<KnownNode>) => (a: number, b: number) =>
  a === from && b === to ? what : {};

test("servers that all know each other are acquainted, and each could be elected", () => {
  expect(allAcquainted(tables())).toBe(true);
  expect([...electable(tables())]).toEqual(["id0", "id1", "id2"]);
});

test("a replica could lose its election while a primary has no connection to it, or takes it for another thing", () => {
  for (const change of [
    one(0, 2, { connected: false }),
    one(2, 0, { connected: false }),
    one(0, 2, { role: "primary" }),
    one(2, 1, { role: "replica" }),
    one(0, 2, { primaryId: "" }),
    one(0, 2, { ip: "10.0.0.77" }),
    one(1, 2, { failed: true }),
    one(1, 2, { handshake: true }),
  ]) {
    expect(allAcquainted(tables(change))).toBe(false);
    expect([...electable(tables(change))]).not.toContain("id2");
  }
});

test("a replica that has not heard of the newest epoch could lose its election", () => {
  expect([...electable(tables(undefined, [7, 7, 6]))]).toEqual(["id0", "id1"]);
  expect(allAcquainted(tables(undefined, [7, 7, 6]))).toBe(false);
});

test("whom one replica does not know does not matter to another", () => {
  const stranger = running(3, { role: "replica", primaryId: "id0", currentEpoch: 7 });
  expect([...electable([...tables(), stranger])]).toEqual(["id0", "id1", "id2"]);
});
