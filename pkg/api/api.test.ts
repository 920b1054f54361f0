import { expect, test } from "bun:test";
import * as v from "valibot";
import { KINDS } from "./api.ts";
import { valkeyCluster } from "./cluster.ts";
import { valkeyClusterDefaults } from "./cluster-defaults.ts";
import { toCrd } from "./crd.ts";
import type { OpenApi } from "./openapi.ts";

/** Every schema below one, with its path. What is preserved unseen has no schema below it. */
function* walk(schema: OpenApi, path: string): Generator<[string, OpenApi]> {
  yield [path, schema];
  for (const [name, field] of Object.entries(schema.properties ?? {})) yield* walk(field, `${path}.${name}`);
  if (schema.items !== undefined) yield* walk(schema.items, `${path}[]`);
  if (schema.additionalProperties !== undefined) yield* walk(schema.additionalProperties, `${path}[key]`);
}

function everySchema(): [string, OpenApi][] {
  return KINDS.flatMap(({ names, openApi }) =>
    ["spec", "status"].flatMap((part) => [...walk(openApi.properties?.[part] ?? {}, `${names.kind}.${part}`)]),
  );
}

function unbounded(schema: OpenApi): boolean {
  if (schema.type === "string")
    return schema.maxLength === undefined && schema.enum === undefined && schema.format === undefined;
  if (schema.type === "array") return schema.maxItems === undefined;
  return schema.additionalProperties !== undefined && schema.maxProperties === undefined;
}

test("every text, list and map has a greatest size, without which CEL rules exceed their budget", () => {
  expect(everySchema().filter(([, schema]) => unbounded(schema))).toEqual([]);
});

test("every field is described", () => {
  const silent = everySchema().filter(([path, { description = "" }]) => !path.endsWith("]") && description === "");
  expect(silent.map(([path]) => path).filter((path) => !path.includes("valueFrom"))).toEqual([]);
});

test("every rule says in words what would be right", () => {
  const rules = everySchema().flatMap(([path, schema]) =>
    (schema["x-kubernetes-validations"] ?? []).map((rule) => [path, rule.message ?? ""] as const),
  );
  expect(rules.length).toBeGreaterThan(100);
  expect(rules.filter(([, message]) => message.length < 10)).toEqual([]);
});

test("the API server fills in nothing in a ValkeyCluster or in defaults, so that defaults can be layered", () => {
  const filled = everySchema().filter(
    ([path, { default: value }]) => /^ValkeyCluster(Defaults)?\.spec/.test(path) && value !== undefined,
  );
  expect(filled).toEqual([]);
});

test("defaults have every field of a ValkeyCluster and require none", () => {
  const cluster = valkeyCluster.openApi.properties?.["spec"];
  const defaults = valkeyClusterDefaults.openApi.properties?.["spec"];
  expect(Object.keys(defaults?.properties ?? {})).toEqual(Object.keys(cluster?.properties ?? {}));
  expect(defaults?.required).toBeUndefined();
  expect(cluster?.required).toBeUndefined();
});

test("defaults may change in any way: no rule of theirs is for changes", () => {
  const text = JSON.stringify(valkeyClusterDefaults.openApi, (_key, value: unknown) =>
    v.is(v.looseObject({ optionalOldSelf: v.literal(true) }), value) ? undefined : value,
  );
  expect(text).not.toContain("oldSelf");
});

test("names, short names and plurals are not used twice, and every CRD is marked as ours", () => {
  const names = KINDS.flatMap(({ names }) => [...new Set([names.plural, names.singular]), ...names.shortNames]);
  expect(new Set(names).size).toBe(names.length);
  for (const kind of KINDS) {
    const { metadata, spec } = toCrd(kind, "1.2.3");
    expect(metadata.labels).toEqual({ "app.kubernetes.io/managed-by": "valkey-operator" });
    expect(spec.names.categories).toEqual(["valkeys"]);
  }
});
