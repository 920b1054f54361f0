import { expect, test } from "bun:test";
import * as v from "valibot";
import { KINDS } from "./api.ts";
import { breakingChanges } from "./compatibility.ts";
import type { OpenApi } from "./openapi.ts";

const KEPT = v.object({
  plural: v.string(),
  schema: v.custom<OpenApi>((value) => typeof value === "object" && value !== null),
});
const RELEASED = `${import.meta.dir}/../../test/api-released`;

const BASE: OpenApi = {
  type: "object",
  properties: {
    size: { type: "integer", minimum: 1, maximum: 10 },
    mode: { type: "string", enum: ["a", "b"] },
    name: { type: "string", maxLength: 10, nullable: true },
    list: { type: "array", maxItems: 3, "x-kubernetes-list-type": "atomic", items: { type: "string", maxLength: 5 } },
    map: { type: "object", additionalProperties: { type: "string" } },
  },
};

function changed(name: string, field: OpenApi | undefined, more: OpenApi = {}): string[] {
  const { [name]: _, ...rest } = BASE.properties ?? {};
  return breakingChanges(BASE, {
    ...BASE,
    ...more,
    properties: field === undefined ? rest : { ...rest, [name]: field },
  });
}

const BREAKING: readonly [string, string[], string][] = [
  ["a removed field", changed("size", undefined), "field size was removed"],
  ["another type", changed("size", { type: "string" }), ".size: type changed"],
  ["a higher minimum", changed("size", { type: "integer", minimum: 2, maximum: 10 }), "minimum rose from 1 to 2"],
  ["a lower maximum", changed("size", { type: "integer", minimum: 1, maximum: 9 }), "maximum fell from 10 to 9"],
  ["a value less", changed("mode", { type: "string", enum: ["a"] }), 'value "b" is no longer allowed'],
  ["null forbidden", changed("name", { type: "string", maxLength: 10 }), "null is no longer allowed"],
  [
    "another default",
    changed("name", { type: "string", maxLength: 10, nullable: true, default: "x" }),
    "default changed",
  ],
  [
    "a new rule",
    changed("mode", { type: "string", enum: ["a", "b"], "x-kubernetes-validations": [{ rule: "self != 'b'" }] }),
    "new rule without regard to stored values",
  ],
  [
    "narrower items",
    changed("list", {
      type: "array",
      maxItems: 3,
      "x-kubernetes-list-type": "atomic",
      items: { type: "string", maxLength: 4 },
    }),
    ".list[]: maxLength fell from 5 to 4",
  ],
  [
    "narrower values of a map",
    changed("map", { type: "object", additionalProperties: { type: "string", maxLength: 4 } }),
    ".map[key]: maxLength fell from none to 4",
  ],
  [
    "a new required field",
    changed("extra", { type: "string" }, { required: ["extra"] }),
    "field extra became required",
  ],
];

for (const [what, found, says] of BREAKING) {
  test(`${what} breaks stored objects`, () => {
    expect(found.join("\n")).toContain(says);
  });
}

test("growing by addition breaks nothing", () => {
  expect(
    changed("extra", { type: "string", maxLength: 5, "x-kubernetes-validations": [{ rule: "self != ''" }] }),
  ).toEqual([]);
  expect(changed("size", { type: "integer", minimum: 0, maximum: 11 })).toEqual([]);
  expect(changed("mode", { type: "string", enum: ["a", "b", "c"] })).toEqual([]);
  expect(changed("extra", { type: "string", default: "x" }, { required: ["extra"] })).toEqual([]);
  const ratchet = { rule: "self == oldSelf || self != 'b'" };
  expect(changed("mode", { type: "string", enum: ["a", "b"], "x-kubernetes-validations": [ratchet] })).toEqual([]);
});

test("no object stored under a released schema is broken by today's", async () => {
  const files = [...new Bun.Glob("*/*.json").scanSync(RELEASED)].toSorted();
  expect(files.length).toBeGreaterThanOrEqual(8);
  for (const file of files) {
    const { plural, schema } = v.parse(KEPT, await Bun.file(`${RELEASED}/${file}`).json());
    const kind = KINDS.find(({ names }) => names.plural === plural);
    const found = kind === undefined ? ["the kind was removed"] : breakingChanges(schema, kind.openApi);
    expect({ file, found }).toEqual({ file, found: [] });
  }
});
