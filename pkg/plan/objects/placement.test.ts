import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { resolved } from "./fixtures.ts";
import { isVoter, membersOf, spareOf, votersOf } from "./members.ts";
import { VOTER_LABEL } from "./names.ts";
import { partsZones, placementOf, zoneOf } from "./placement.ts";

const shape = fc.record({
  masterCount: fc.integer({ min: 3, max: 20 }),
  replicasPerMaster: fc.integer({ min: 0, max: 5 }),
  zones: fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 6 }),
  replicaStrategy: fc.constantFrom("anti-affinity" as const, "spread" as const),
});

function specOf({ zones, replicaStrategy, ...rest }: typeof shape extends fc.Arbitrary<infer T> ? T : never) {
  return resolved({ ...rest, azDistribution: { zones, replicaStrategy } });
}

describe("zones", () => {
  test("who votes is known of each place alone", () => {
    fc.assert(
      fc.property(shape, (given) => {
        const spec = specOf(given);
        const places = [...membersOf(spec), spareOf(0)];
        expect(new Set(places.filter((place) => isVoter(spec, place)))).toEqual(new Set(votersOf(places)));
      }),
    );
  });

  test("every member has a zone that is given, however many zones and members there are", () => {
    fc.assert(
      fc.property(shape, (given) => {
        const spec = specOf(given);
        for (const place of membersOf(spec)) expect(given.zones).toContain(zoneOf({ zones: given.zones }, place) ?? "");
      }),
    );
  });

  test("primaries begin evenly over the zones", () => {
    fc.assert(
      fc.property(shape, (given) => {
        const primaries = membersOf(specOf(given)).filter(({ member }) => member === 0);
        const counts = given.zones.map((zone) => primaries.filter((place) => zoneOf(given, place) === zone).length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test("a shard's pods want as many zones as there can be", () => {
    fc.assert(
      fc.property(shape, (given) => {
        const zones = membersOf(specOf(given))
          .filter(({ shard }) => shard === 1)
          .map((place) => zoneOf(given, place));
        expect(new Set(zones).size).toBe(Math.min(zones.length, given.zones.length));
      }),
    );
  });

  /** The scheduler's view: any order of pods, each takes any zone that what is required of it leaves. */
  test("whatever zone a pod takes that it may take, there is one left for all others of its shard", () => {
    const order = fc.array(fc.nat(), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(shape, order, (given, choices) => {
        const spec = specOf(given);
        const taken: string[] = [];
        for (const [index, place] of membersOf(spec)
          .filter(({ shard }) => shard === 0)
          .entries()) {
          const { affinity } = placementOf("c", spec, place);
          const required = affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
          const free = given.zones.filter((zone) => required.length === 0 || !taken.includes(zone));
          expect(free.length).toBeGreaterThan(0);
          taken.push(free[(choices[index] ?? 0) % free.length] ?? "");
        }
        if (partsZones(spec)) expect(new Set(taken).size).toBe(taken.length);
      }),
    );
  });

  test("only the zones themselves are required, and in each of the user's own terms", () => {
    const spec = resolved({
      azDistribution: { zones: ["a", "b"] },
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] },
            { matchFields: [{ key: "metadata.name", operator: "In", values: ["node-1"] }] },
          ],
        },
      },
    });
    const { affinity } = placementOf("c", spec, { shard: 1, member: 0 });
    const zone = { key: "topology.kubernetes.io/zone", operator: "In", values: ["a", "b"] };
    expect(affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms).toEqual([
      { matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }, zone] },
      { matchExpressions: [zone], matchFields: [{ key: "metadata.name", operator: "In", values: ["node-1"] }] },
    ]);
    expect(affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution?.[0]).toMatchObject({
      weight: 100,
      preference: { matchExpressions: [{ values: ["b"] }] },
    });
  });
});

describe("without zones", () => {
  test("nothing is required", () => {
    const { affinity, topologySpreadConstraints } = placementOf("c", resolved(), { shard: 0, member: 0 });
    expect(JSON.stringify(affinity)).not.toContain("requiredDuring");
    expect(new Set(topologySpreadConstraints.map((each) => each.whenUnsatisfiable))).toEqual(
      new Set(["ScheduleAnyway"]),
    );
    const keys = (member: number, spec = resolved()) => {
      const { podAntiAffinity } = placementOf("c", spec, { shard: 2, member }).affinity ?? {};
      const terms = podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
      return terms.map(({ podAffinityTerm }) => podAffinityTerm.labelSelector?.matchLabels?.[VOTER_LABEL] ?? "any");
    };
    const zoned = resolved({ azDistribution: { zones: ["a", "b"], replicaStrategy: "spread" } });
    expect(keys(0, zoned)).toEqual(["any", "any"]);
    expect([keys(0), keys(1)]).toEqual([
      ["any", "any", "true", "true"],
      ["any", "any"],
    ]);
  });

  test("the user's own rules take the place of ours", () => {
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "rack" }] };
    const topologySpreadConstraints = [
      { maxSkew: 2, topologyKey: "rack", whenUnsatisfiable: "DoNotSchedule" as const },
      { maxSkew: 3, topologyKey: "row", whenUnsatisfiable: "DoNotSchedule" as const, labelSelector: {} },
    ];
    const spec = resolved({ podAntiAffinity, topologySpreadConstraints });
    const placement = placementOf("c", spec, { shard: 0, member: 0 });
    expect(placement.affinity?.podAntiAffinity).toEqual(podAntiAffinity);
    // Without a selector a constraint would count no pod at all.
    expect(placement.topologySpreadConstraints[0]).toMatchObject({
      maxSkew: 2,
      labelSelector: { matchLabels: { "valkey.io/cr": "c" } },
    });
    expect(placement.topologySpreadConstraints[1]?.labelSelector).toEqual({});
  });
});
