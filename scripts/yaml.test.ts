import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { yaml } from "./yaml.ts";

test("a manifest reads like one", () => {
  const object = {
    kind: "X",
    spec: { list: ["a", { b: 0, c: [] }], empty: {}, tag: "8.1", yes: "yes", none: null, off: undefined },
  };
  expect(yaml(object)).toBe(`kind: X
spec:
  list:
    - a
    - b: 0
      c: []
  empty: {}
  tag: "8.1"
  "yes": "yes"
  none: null
`);
});

test("what is written is read back, whatever the texts", () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom("yes", "0", "1e3", "- a", "a: b", "#", "a #b", "'", "~", "2026-01-01", "*a", "&a"),
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(text, tie("value"), { maxKeys: 3, noNullPrototype: true }),
    ),
  }));
  fc.assert(
    fc.property(value, (value) => {
      expect(Bun.YAML.parse(yaml({ value }))).toEqual({ value });
    }),
    { numRuns: 500 },
  );
});
