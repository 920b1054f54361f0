/** The witness against a real cluster: it sees who takes writes, what waited for replicas, and two writers at once. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { until } from "../lib/until.ts";
import { ValkeyCluster } from "../lib/valkey-cluster.ts";
import type { WitnessedServer } from "../lib/witness/acknowledgement.ts";
import { twoWriters } from "../lib/witness/two-writers.ts";
import { Witness } from "../lib/witness/witness.ts";
import { slotOf } from "../lib/write-client/slots.ts";

let cluster: ValkeyCluster;
beforeAll(async () => {
  cluster = await ValkeyCluster.start({ version: "9.1", primaries: 3, replicas: 1 });
}, 300_000);
afterAll(() => cluster[Symbol.asyncDispose]());

/** The first shard's servers; whatever tag falls into its slots. */
function servers(): WitnessedServer[] {
  const tag = Array.from({ length: 100 }, (_, n) => `t${n}`).find((text) => slotOf(text) < 5000) ?? "";
  const { primary, replicas } = cluster.shard(0);
  return [primary, ...replicas].map(({ address }, index) => ({
    pod: `p${index}`,
    ip: address.host,
    port: address.port,
    shard: 0,
    tag,
    replicas: 1,
  }));
}

test("a replica acknowledges nothing, a primary does, and a change of primary makes no second writer", async () => {
  await using witness = Witness.here();
  await witness.watch(servers());
  const seen = (pod: string, count: number) => until(`${count} writes of ${pod}`, () => of(pod).length >= count);
  const of = (pod: string) => witness.acknowledged.filter((one) => one.pod === pod);
  await seen("p0", 20);
  expect(of("p1")).toEqual([]);
  expect(of("p0").some(({ waited }) => waited)).toBe(true);
  await cluster.shard(0).replicas[0]?.send("CLUSTER", "FAILOVER");
  await seen("p1", 20);
  const acknowledged = await witness.stop();
  expect(twoWriters(acknowledged)).toEqual([]);
  expect(Math.max(...of("p0").map(({ epoch }) => epoch))).toBeLessThan(of("p1")[0]?.epoch ?? 0);
}, 30_000);

test("two servers that both take writes for a slot are told", async () => {
  await using stranger = await ValkeyCluster.start({ version: "9.1", primaries: 1, replicas: 0 });
  await using witness = Witness.here();
  const [first] = servers();
  const [address] = stranger.addresses;
  if (first === undefined || address === undefined) throw new Error("no server");
  await witness.watch([...servers(), { ...first, pod: "stranger", ip: address.host, port: address.port, replicas: 0 }]);
  const writers = () => new Set(witness.acknowledged.map(({ pod }) => pod));
  await until("both write", () => writers().has("stranger") && writers().size === 2);
  const goal = witness.acknowledged.length + 10;
  await until("both write on", () => witness.acknowledged.length >= goal);
  const [found] = twoWriters(await witness.stop());
  expect(found?.shard).toBe(0);
}, 30_000);
