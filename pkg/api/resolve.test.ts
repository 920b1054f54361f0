import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ValkeyClusterSpec } from "./cluster-spec.ts";
import { BUILT_IN_DEFAULTS } from "./defaults.ts";
import { resolveSpec } from "./resolve.ts";

const resolve = (spec: ValkeyClusterSpec, namespace?: ValkeyClusterSpec, operator?: ValkeyClusterSpec) =>
  resolveSpec(BUILT_IN_DEFAULTS, operator, namespace, spec);

test("an empty spec is the built in values, without TLS, users, zones or a volume", () => {
  const { pvc, azDistribution, tls, acl, ...spec } = resolve({});
  expect([pvc, azDistribution, tls, acl]).toEqual([undefined, undefined, undefined, undefined]);
  const { pvc: _, azDistribution: __, ...builtIn } = BUILT_IN_DEFAULTS;
  expect(JSON.parse(JSON.stringify(spec))).toEqual(JSON.parse(JSON.stringify(builtIn)));
});

test("a neighbour's default survives the user's word on one field", () => {
  const spec = resolve({ cluster: { nodeTimeout: "9s" } }, { cluster: { requireFullCoverage: true } });
  expect(spec.cluster).toEqual({ ...BUILT_IN_DEFAULTS.cluster, nodeTimeout: "9s", requireFullCoverage: true });
});

test("maps are merged by key, the stronger layer's value winning", () => {
  const spec = resolve(
    { labels: { a: "cr", b: "cr" }, config: { x: 1 } },
    { labels: { a: "ns", c: "ns" }, config: { y: "2" } },
  );
  expect(spec.labels).toEqual({ a: "cr", b: "cr", c: "ns" });
  expect(spec.config).toEqual({ x: 1, y: "2" });
});

test("lists are taken whole", () => {
  const spec = resolve({ tolerations: [{ key: "cr" }] }, { tolerations: [{ key: "ns" }, { key: "other" }] });
  expect(spec.tolerations).toEqual([{ key: "cr" }]);
  expect(resolve({ tolerations: [] }, { tolerations: [{ key: "ns" }] }).tolerations).toEqual([]);
});

test("resources are taken whole, so that no request meets another layer's lower limit", () => {
  expect(resolve({ resources: { requests: { memory: "8Gi" } } }).resources).toEqual({ requests: { memory: "8Gi" } });
});

test("affinities are taken whole", () => {
  const one = { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } };
  const other = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] } };
  expect(resolve(one, other).podAffinity).toEqual(one.podAffinity);
});

test("an empty name says none and outdoes a default", () => {
  expect(resolve({ tls: "" }, { tls: "common" }).tls).toBeUndefined();
  expect(resolve({}, { tls: "common" }).tls).toBe("common");
});

test("a volume comes with its size, whoever gives it", () => {
  expect(resolve({}, { pvc: { storageClassName: "fast" } }).pvc).toBeUndefined();
  expect(resolve({ pvc: { storageSize: "1Gi" } }, { pvc: { storageClassName: "fast" } }).pvc).toEqual({
    storageSize: "1Gi",
    storageClassName: "fast",
    whenDeleted: "Retain",
    whenScaled: "Retain",
  });
});

test("null layers count as absent", () => {
  expect(resolveSpec(BUILT_IN_DEFAULTS, null, null, {}).masterCount).toBe(3);
});

const layer: fc.Arbitrary<ValkeyClusterSpec> = fc.record(
  {
    masterCount: fc.integer({ min: 3, max: 500 }),
    tls: fc.constantFrom("", "a", "b"),
    labels: fc.dictionary(fc.constantFrom("a", "b", "c"), fc.constantFrom("x", "y")),
    update: fc.record(
      { canarySeconds: fc.nat(100), maxUnavailable: fc.integer({ min: 1, max: 5 }) },
      { requiredKeys: [] },
    ),
    tolerations: fc.array(fc.record({ key: fc.constantFrom("k", "l") }), { maxLength: 2 }),
  },
  { requiredKeys: [] },
);

test("every field comes from the strongest layer that has it", () => {
  fc.assert(
    fc.property(layer, layer, layer, (operator, namespace, spec) => {
      const result = resolve(spec, namespace, operator);
      const strongest = <T>(pick: (layer: ValkeyClusterSpec) => T | undefined) =>
        [spec, namespace, operator].map(pick).find((value) => value !== undefined);
      expect(result.masterCount).toBe(strongest(({ masterCount }) => masterCount) ?? 3);
      expect(result.update.canarySeconds).toBe(strongest(({ update }) => update?.canarySeconds) ?? 0);
      expect(result.tolerations).toEqual(strongest(({ tolerations }) => tolerations));
      expect(result.tls ?? "").toBe(strongest(({ tls }) => tls) ?? "");
    }),
  );
});

test("resolving changes no layer, and resolving the result again changes nothing", () => {
  fc.assert(
    fc.property(layer, layer, layer, (operator, namespace, spec) => {
      const before = structuredClone([operator, namespace, spec]);
      const result = resolve(spec, namespace, operator);
      result.labels = { changed: "yes" };
      expect([operator, namespace, spec]).toEqual(before);
      const once = resolve(spec, namespace, operator);
      expect(resolve(once)).toEqual(once);
    }),
  );
});
