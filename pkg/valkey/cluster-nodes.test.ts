import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { myselfOf, parseClusterNodes, parseNodeLine, slotRanges, slotSet, withoutTimes } from "./cluster-nodes.ts";
import { ValkeyError } from "./valkey-error.ts";

const A = "a".repeat(40);
const B = "b".repeat(40);

test("a primary with slots on the move, a replica, a handshake and a node without an address", () => {
  const nodes = parseClusterNodes(
    [
      `${A} 10.0.0.1:6379@16379,cache-0-0-0.cache-headless.shop.svc myself,master - 0 0 7 connected 0-5460 9000 [93->-${B}] [77-<-${B}]`,
      `${B} fd00::1:6379@16379 slave,nofailover ${A} 0 1700000000000 7 disconnected`,
      `${"c".repeat(40)} 10.0.0.3:6379@16379 handshake - 0 0 0 connected`,
      `${"d".repeat(40)} :0@0 master,fail,noaddr - 1 1 3 disconnected`,
      `${"e".repeat(40)} 10.0.0.5:6379@16379 master,fail? - 1 1 18446744073709551615 connected 16383`,
      "",
    ].join("\n"),
  );
  expect(nodes).toHaveLength(5);
  expect(myselfOf(nodes)).toMatchObject({
    id: A,
    ip: "10.0.0.1",
    port: 6379,
    busPort: 16_379,
    hostname: "cache-0-0-0.cache-headless.shop.svc",
    role: "primary",
    primaryId: "",
    configEpoch: 7n,
    connected: true,
    slots: [
      { first: 0, last: 5460 },
      { first: 9000, last: 9000 },
    ],
    migrating: [{ slot: 93, node: B }],
    importing: [{ slot: 77, node: B }],
  });
  expect(nodes[1]).toMatchObject({ ip: "fd00::1", role: "replica", primaryId: A, connected: false, noFailover: true });
  expect(nodes[2]).toMatchObject({ handshake: true, role: undefined });
  expect(nodes[3]).toMatchObject({ failed: true, noAddress: true, ip: "", port: 0 });
  expect(nodes[4]).toMatchObject({ failed: false, suspected: true, configEpoch: 18_446_744_073_709_551_615n });
});

test("lines that are no node are refused with what was read", () => {
  const wrong = [
    "",
    "nonsense",
    `${A} 10.0.0.1 master - 0 0 1 connected`,
    `${A} 10.0.0.1:1@2 master - 0 0 x connected`,
    `${A} 10.0.0.1:1@2 master - 0 0 1 connected 0-x`,
    `${A} 10.0.0.1:1@2 master - 0 0 1 connected 16384`,
  ];
  for (const line of wrong) expect(() => parseNodeLine(line)).toThrow(ValkeyError);
  expect(() => myselfOf([])).toThrow("0 lines");
});

test("whatever a table holds is read back", () => {
  const id = fc.string({ unit: fc.constantFrom(..."0123456789abcdef".split("")), minLength: 40, maxLength: 40 });
  const host = fc.string({ unit: fc.constantFrom(..."abc.-0".split("")), maxLength: 20 });
  const node = fc.record({
    id,
    ip: fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant("")),
    port: fc.nat(65_535),
    busPort: fc.nat(65_535),
    hostname: host,
    failed: fc.boolean(),
    configEpoch: fc.bigInt(0n, 2n ** 64n - 1n),
    slots: fc.uniqueArray(fc.nat(16_383), { maxLength: 20 }).map(slotRanges),
  });
  const property = fc.property(node, (expected) => {
    const { id, ip, port, busPort, hostname, failed, configEpoch, slots } = expected;
    const ranges = slots.map(({ first, last }) => (first === last ? String(first) : `${first}-${last}`));
    const flags = failed ? "master,fail" : "master";
    const address = `${ip}:${port}@${busPort},${hostname},shard-id=${id}`;
    const line = [id, address, flags, "-", "0", "0", configEpoch, "connected", ...ranges].join(" ");
    expect(parseNodeLine(line)).toMatchObject(expected);
    expect(parseNodeLine(line).aux.get("shard-id")).toBe(id);
  });
  fc.assert(property);
});

test("ranges and sets of slots are two ways to say the same", () => {
  const property = fc.property(fc.uniqueArray(fc.nat(16_383), { maxLength: 60 }), (slots) => {
    expect([...slotSet(slotRanges(slots))]).toEqual(slots.toSorted((a, b) => a - b));
  });
  fc.assert(property);
});

test("garbage is refused or read, never something else", () => {
  const property = fc.property(fc.string({ maxLength: 120 }), (text) => {
    try {
      parseClusterNodes(text);
    } catch (error) {
      expect(error).toBeInstanceOf(ValkeyError);
    }
  });
  fc.assert(property);
});

test("tables that differ in the times of pings are alike, and in anything else are not", () => {
  const table = (line: string) => `${A} 10.0.0.1:6379@16379 myself,master - 0 0 7 connected 0-99\n${line}\n`;
  const plain = withoutTimes(table(`${B} 10.0.0.2:6379@16379 slave ${A} 0 1700000000000 7 connected`));
  expect(withoutTimes(table(`${B} 10.0.0.2:6379@16379 slave ${A} 1700000000777 1700000000001 7 connected`))).toBe(
    plain,
  );
  for (const line of [
    `${B} 10.0.0.2:6379@16379 slave ${A} 0 1700000000000 8 connected`,
    `${B} 10.0.0.2:6379@16379 slave,fail ${A} 0 1700000000000 7 connected`,
    `${B} 10.0.0.2:6379@16379 slave ${A} 0 1700000000000 7 disconnected`,
    `${B} 10.0.0.3:6379@16379 slave ${A} 0 1700000000000 7 connected`,
    `${B} 10.0.0.2:6379@16379 slave ${A} 0`,
    B,
  ]) {
    expect(withoutTimes(table(line))).not.toBe(plain);
  }
});
