import { expect, test } from "bun:test";
import * as v from "valibot";
import { celString, toOpenApi, withoutTransitions } from "./openapi.ts";
import { immutable, integer, rules, shaped } from "./schema.ts";

test("optional fields are not required, and carry their default", () => {
  const schema = v.object({ a: v.string(), b: v.optional(v.boolean(), true), c: v.nullish(v.string()) });
  expect(toOpenApi(schema)).toEqual({
    type: "object",
    required: ["a"],
    properties: { a: { type: "string" }, b: { type: "boolean", default: true }, c: { type: "string", nullable: true } },
  });
});

test("a pattern becomes a rule with a message in words", () => {
  expect(toOpenApi(shaped("A path.", 9, /^a\/b$/, "must be a/b"))).toEqual({
    type: "string",
    maxLength: 9,
    description: "A path.",
    "x-kubernetes-validations": [{ rule: "self.matches('^a/b$')", message: "must be a/b" }],
  });
});

test("a pipe on a pipe keeps what the inner one said", () => {
  const schema = v.pipe(integer("A number.", 1, 5), rules<number>({ rule: "self != 2", message: "not two" }));
  expect(toOpenApi(schema)).toMatchObject({ type: "integer", minimum: 1, maximum: 5, description: "A number." });
});

test("a schema that a CRD cannot express is refused with its type", () => {
  expect(() => toOpenApi(v.date())).toThrow("type date");
  expect(() => toOpenApi(v.pipe(v.string(), v.email()))).toThrow("message in words");
});

test("transition rules can be left out, at every depth", () => {
  const schema = v.object({ list: v.array(v.object({ a: v.pipe(v.string(), immutable<string>("is immutable")) })) });
  expect(JSON.stringify(toOpenApi(schema))).toContain("oldSelf");
  expect(JSON.stringify(withoutTransitions(toOpenApi(schema)))).not.toContain("oldSelf");
});

test("a CEL text literal survives quotes, backslashes and line breaks", () => {
  expect(celString("a'b\\c\nd")).toBe("'a\\'b\\\\c\\nd'");
});
