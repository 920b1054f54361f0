import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Addresses } from "./addresses.ts";
import { BootClock } from "./boot-clock.ts";
import { Eras } from "./eras.ts";
import { type Kept, KeptFile } from "./kept.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lease-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("what was granted is found again; a damaged file counts as none", async () => {
  const path = join(folder, "lease.json");
  const file = new KeptFile(path);
  expect(new KeptFile(path).read()).toEqual({ lease: undefined, addresses: {} });
  const memory = { epoch: 4, inSync: { version: 2, members: [{ node: "a-0-1", run: "r" }] } };
  const shards = [
    { memory, holder: "a-0-0", promise: false, grantEpoch: 4 },
    { memory, holder: undefined, promise: true, grantEpoch: 3 },
  ];
  const addresses = { "a-0-0": { nodeId: "id", ip: "10.0.0.1" } };
  const held: Kept = { lease: { leaseUntil: 12, electionUntil: 30, shards }, addresses };
  file.write(held);
  expect(new KeptFile(path).read()).toEqual(held);
  const never: Kept = { ...held, lease: { leaseUntil: Number.NEGATIVE_INFINITY, electionUntil: undefined, shards } };
  file.write(never);
  expect(new KeptFile(path).read()).toEqual(never);
  await writeFile(`${path}.until`, "soon");
  expect(new KeptFile(path).read().lease?.leaseUntil).toBe(Number.NEGATIVE_INFINITY);
  file.write({ lease: undefined, addresses });
  expect(new KeptFile(path).read()).toEqual({ lease: undefined, addresses });
  await writeFile(path, '{"lease":{"leaseUntil":1}');
  expect(new KeptFile(path).read()).toEqual({ lease: undefined, addresses: {} });
});

test("the epoch of a stream is on disk as soon as it is noted, and the oldest are forgotten", () => {
  const eras = new Eras(folder);
  expect(eras.eraOf(["one", "two"])).toBeUndefined();
  const era = (stream: string, epoch: number, base = 0) => ({ stream, epoch, base, from: 0, before: 0 });
  eras.begin(era("one", 3));
  eras.begin(era("two", 5, 40));
  expect(new Eras(folder).eraOf(["new", "one"])?.epoch).toBe(3);
  eras.begin(era("one", 7));
  eras.noteLast(["one"], 1234);
  eras.noteLast(["unknown"], 0);
  const again = new Eras(folder);
  expect(again.eraOf(["one"])?.epoch).toBe(7);
  expect(again.last).toEqual({ epoch: 7, offset: 1234 });
  // A stream goes on from the one before; one that begins after an append-only file was read does where that was.
  expect(again.claimOf(["new", "two"], 3, () => true)).toMatchObject({ epoch: 5, base: 40 });
  expect(again.claimOf(["new", "000"], 34, () => true)).toEqual({ epoch: 7, base: 1200 });
  expect(again.claimOf(["new", "000"], 34, () => false)).toEqual({ epoch: 0, base: 0 });
  for (let index = 0; index < 20; index += 1) again.begin(era(`stream-${index}`, index));
  expect(again.eraOf(["two"])).toBeUndefined();
  again.begin(era("", 99));
  expect(again.eraOf([""])).toBeUndefined();
});

test("a copy that does not reach to where an era began has the data of the one before", () => {
  const eras = new Eras(folder);
  eras.begin({ stream: "new", epoch: 6, base: 40, from: 340, before: 3 });
  const claimed = (offset: number) => eras.claimOf(["new", "old"], offset, () => false);
  expect([claimed(299), claimed(300)]).toEqual([
    { epoch: 3, base: 40 },
    { epoch: 6, base: 40 },
  ]);
  // Where it began is told once: a primary that looks again is further by then.
  eras.begin({ stream: "new", epoch: 6, base: 40, from: 900, before: 6 });
  expect(claimed(300).epoch).toBe(6);
  eras.noteLast(["new"], 10);
  expect(eras.last).toEqual({ epoch: 3, offset: 50 });
});

test("members are tried at what they said, then where they were seen, then by name", () => {
  const addresses = new Addresses();
  expect(addresses.hostOf("a", "a.svc")).toBe("a.svc");
  addresses.sight(new Map([["a", "10.0.0.1"]]));
  expect(addresses.hostOf("a", "a.svc")).toBe("10.0.0.1");
  expect(addresses.hear("a", { nodeId: "id-a", ip: "10.0.0.2" })).toBe(true);
  expect(addresses.hear("a", { nodeId: "", ip: "10.0.0.2" })).toBe(false);
  expect(addresses.hostOf("a", "a.svc")).toBe("10.0.0.2");
  const afterFailures = (count: number) => {
    const host = addresses.hostOf("a", "a.svc");
    for (let failure = 0; failure < count; failure += 1) addresses.failed("a", host);
    return addresses.hostOf("a", "a.svc");
  };
  // Questions that were under way to one address fail together: that is one failure of one address.
  expect([4, 1, 2].map(afterFailures)).toEqual(["10.0.0.1", "a.svc", "10.0.0.2"]);
});

test("whatever was said last is tried first, and what it replaces is not tried any more", () => {
  const addresses = new Addresses({ a: { nodeId: "id-a", ip: "10.0.0.1" } });
  expect(addresses.hostOf("a", "a.svc")).toBe("10.0.0.1");
  addresses.sight(new Map([["a", "10.0.0.2"]]));
  expect(addresses.hostOf("a", "a.svc")).toBe("10.0.0.2");
  addresses.failed("a", "10.0.0.2");
  addresses.sight(new Map([["a", "10.0.0.2"]]));
  expect(addresses.hostOf("a", "a.svc")).toBe("10.0.0.1");
  addresses.hear("a", { nodeId: "id-a", ip: "10.0.0.3" });
  expect(addresses.hostOf("a", "a.svc")).toBe("10.0.0.3");
  addresses.failed("a", "10.0.0.3");
  expect(addresses.hostOf("a", "a.svc")).toBe("a.svc");
  addresses.failed("a", "a.svc");
  expect(addresses.hostOf("a", "a.svc")).toBe("10.0.0.2");
});

test("a member whose address nobody knows any more is found by its name, however its questions fail", () => {
  const addresses = new Addresses({ a: { nodeId: "id-a", ip: "10.0.0.1" } });
  const tried = new Set<string>();
  for (let round = 0; round < 6; round += 1) {
    const host = addresses.hostOf("a", "a.svc");
    tried.add(host);
    for (let failure = 0; failure < 4; failure += 1) addresses.failed("a", host);
  }
  expect([...tried]).toEqual(["10.0.0.1", "a.svc"]);
});

test("a node that nobody has named is somebody all the same", () => {
  const addresses = new Addresses({ a: { nodeId: "id-a", ip: "" } });
  expect([addresses.nameOf("id-a"), addresses.idOf("a"), addresses.idOf("b")]).toEqual(["a", "id-a", undefined]);
  expect(addresses.idOf(addresses.nameOf("id-x"))).toBe("id-x");
});

test("the clock of leases goes on while the machine sleeps, and only then differs from the other one", async () => {
  const path = join(folder, "uptime");
  const uptime = async (seconds: number) => writeFile(path, `${seconds.toFixed(2)} 1.00\n`);
  let monotonic = 100;
  const clock = new BootClock({ monotonic: () => monotonic }, path);
  await uptime(50);
  expect(clock.now()).toBe(50_000);
  monotonic += 30;
  expect(clock.now()).toBe(50_030);
  monotonic += 30;
  await uptime(50.05);
  expect(clock.now()).toBe(50_060);
  monotonic += 60;
  await uptime(3650);
  expect(clock.now()).toBe(3_650_000);
  const real = new BootClock({ monotonic: () => performance.now() });
  const before = real.now();
  await Bun.sleep(30);
  expect(real.now() - before).toBeGreaterThanOrEqual(20);
});
