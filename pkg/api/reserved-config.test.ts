import { expect, test } from "bun:test";
import { RESERVED_CONFIG, reservedFor, reservedRules } from "./reserved-config.ts";

test("a reserved key is found whatever its case, and by its beginning", () => {
  expect(reservedFor("PORT")?.instead).toContain("spec.tls");
  expect(reservedFor("tls-cert-file")?.instead).toContain("spec.tls");
  expect(reservedFor("cluster-announce-hostname")?.instead).toContain("spec.masterCount");
  expect(reservedFor("maxmemory-policy")).toBeUndefined();
  expect(reservedFor("ports")).toBeUndefined();
});

test("no key stands in two entries, and every entry becomes one rule that names its keys", () => {
  const keys = RESERVED_CONFIG.flatMap(({ keys }) => keys);
  expect(new Set(keys).size).toBe(keys.length);
  expect(reservedRules()).toHaveLength(RESERVED_CONFIG.length);
  for (const [index, { keys }] of RESERVED_CONFIG.entries()) {
    for (const key of keys) expect(reservedRules()[index]?.message).toContain(key);
  }
});
