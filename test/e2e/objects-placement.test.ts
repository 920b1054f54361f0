/** Where a real scheduler puts the pods of a cluster. They are made here, bare: only where they go is looked at. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ValkeyClusterSpec } from "../../pkg/api/cluster-spec.ts";
import { MACHINES, NODE_PODS } from "../../pkg/controllers/node/resources.ts";
import { SERVICE_ACCOUNTS } from "../../pkg/kube/resource.ts";
import { resolved } from "../../pkg/plan/objects/fixtures.ts";
import { membersOf } from "../../pkg/plan/objects/members.ts";
import { type MemberRef, nodeLabels, nodeName } from "../../pkg/plan/objects/names.ts";
import { placementOf, zoneOf } from "../../pkg/plan/objects/placement.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { client } from "./operator.ts";

const namespace = `placement-${crypto.randomUUID().slice(0, 6)}`;
let zoneOfMachine: ReadonlyMap<string, string>;
let zones: readonly string[];

beforeAll(async () => {
  await kubectl(["create", "namespace", namespace]);
  await until("pods may be made", async () => client.find(SERVICE_ACCOUNTS, { namespace, name: "default" }));
  // Right after a lab has come up a Node may still carry the taint of one that is not ready.
  const items = await until("all Nodes take pods", async () => {
    const { items } = await client.list(MACHINES);
    return items.every(({ taints }) => taints.every(({ effect }) => effect === "PreferNoSchedule")) && items;
  });
  zoneOfMachine = new Map(items.map(({ metadata, zone = "" }) => [metadata.name, zone]));
  zones = [...new Set(zoneOfMachine.values())].toSorted();
});
afterAll(async () => void (await kubectl(["delete", "namespace", namespace, "--wait=false"])));

interface Placed extends MemberRef {
  readonly zone: string;
}

/** All pods at once, in an order that helps nobody. */
async function place(cluster: string, given: ValkeyClusterSpec): Promise<Placed[]> {
  const spec = resolved(given);
  const places = membersOf(spec).toSorted((a, b) => b.member - a.member || b.shard - a.shard);
  await Promise.all(
    places.map(async (member) => {
      const metadata = { namespace, name: nodeName(cluster, member), labels: nodeLabels(cluster, member) };
      const container = { name: "valkey", image: "valkey/valkey:9.1", command: ["valkey-server", "--save", ""] };
      const pod = { containers: [container], terminationGracePeriodSeconds: 0, ...placementOf(cluster, spec, member) };
      await client.create(NODE_PODS, { metadata, spec: pod });
    }),
  );
  return until(`all pods of ${cluster} have a Node`, async () => {
    const { items } = await client.list(NODE_PODS, { namespace, labelSelector: `valkey.io/cr=${cluster}` });
    const placed = items.flatMap(({ metadata, spec }) => {
      const member = places.find((one) => nodeName(cluster, one) === metadata.name);
      if (member === undefined || spec.nodeName === undefined) return [];
      return [{ ...member, zone: zoneOfMachine.get(spec.nodeName) ?? "" }];
    });
    return placed.length === places.length && placed;
  });
}

function zonesOfShards(placed: readonly Placed[]): string[][] {
  return [...Map.groupBy(placed, ({ shard }) => shard).values()].map((pods) => pods.map(({ zone }) => zone));
}

describe("pods", () => {
  test("go to the zone that is meant for each, primaries round-robin, a shard's never together", async () => {
    const order = zones.toReversed();
    const placed = await place("zoned", { replicasPerMaster: zones.length - 1, azDistribution: { zones: order } });
    for (const pod of placed)
      expect([nodeName("zoned", pod), pod.zone]).toEqual([nodeName("zoned", pod), zoneOf({ zones: order }, pod) ?? ""]);
    for (const shard of zonesOfShards(placed)) expect(new Set(shard).size).toBe(shard.length);
  });

  test("whose zone is not there go to the others, a shard's still apart", async () => {
    const azDistribution = { zones: ["gone", ...zones] };
    const placed = await place("lost", { replicasPerMaster: Math.min(1, zones.length - 1), azDistribution });
    for (const shard of zonesOfShards(placed)) expect(new Set(shard).size).toBe(shard.length);
  });

  test("are spread when there are more of a shard than zones, instead of waiting for ever", async () => {
    const placed = await place("many", { replicasPerMaster: zones.length, azDistribution: { zones: [...zones] } });
    for (const shard of zonesOfShards(placed)) expect(new Set(shard).size).toBe(zones.length);
  });

  test("are spread softly when nobody says anything", async () => {
    const placed = await place("soft", {});
    for (const shard of zonesOfShards(placed)) expect(new Set(shard).size).toBe(Math.min(2, zones.length));
    const counts = [...Map.groupBy(placed, ({ zone }) => zone).values()].map((pods) => pods.length);
    // To keep a shard apart weighs as much as to be even.
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
  });
});
