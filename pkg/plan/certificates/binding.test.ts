import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { bindingSpec, type InUse } from "./binding.ts";

const NOW = new Date("2030-01-01T00:00:00Z");
const at = (days: number) => new Date(NOW.getTime() + days * 86_400_000);

function inUse(thumbprint: string, settled: boolean, purpose: "mtls" | "tls" = "mtls"): InUse {
  const life = { notBefore: at(-1), notAfter: at(9), trustSince: at(-1) };
  const held = { thumbprint, issuer: "r", root: "r", trusts: ["r"], request: "", sequence: 1, ...life };
  return { purpose, held, bundle: `cart-${purpose}`, secret: `cart-${purpose}-ca`, settled };
}

test("what is replaced is deprecated until nobody uses it any more", () => {
  const first = bindingSpec("cart", undefined, [inUse("aa", true), inUse("tt", true, "tls")], NOW);
  expect(first.active?.map(({ thumbprint }) => thumbprint)).toEqual(["aa", "tt"]);
  const second = bindingSpec("cart", first, [inUse("bb", false), inUse("tt", true, "tls")], NOW);
  expect(second.deprecated).toMatchObject([{ purpose: "mtls", thumbprint: "aa" }]);
  const third = bindingSpec("cart", second, [inUse("bb", true), inUse("tt", true, "tls")], NOW);
  expect(third.deprecated).toEqual([]);
});

test("a certificate of somebody else has no bundle, neither in use nor after it", () => {
  const theirs = (thumbprint: string) => ({ ...inUse(thumbprint, false, "tls"), bundle: undefined });
  const first = bindingSpec("cart", undefined, [theirs("aa")], NOW);
  expect(Object.keys(first.active?.[0] ?? {})).not.toContain("bundleRef");
  const second = bindingSpec("cart", first, [theirs("bb")], NOW);
  expect(second.deprecated).toMatchObject([{ purpose: "tls", thumbprint: "aa" }]);
  expect(Object.keys(second.deprecated?.[0] ?? {})).not.toContain("bundleRef");
});

test("what has ended is forgotten, settled or not", () => {
  const first = bindingSpec("cart", undefined, [inUse("aa", false)], NOW);
  const second = bindingSpec("cart", first, [inUse("bb", false)], at(10));
  expect(second.deprecated).toEqual([]);
});

test("it stays small and never lists one certificate twice, whatever happens", () => {
  const steps = fc.array(fc.record({ name: fc.nat(60), settled: fc.boolean() }), { maxLength: 80, size: "max" });
  const property = fc.property(steps, (list) => {
    let spec = bindingSpec("cart", undefined, [], NOW);
    for (const { name, settled } of list) spec = bindingSpec("cart", spec, [inUse(String(name), settled)], NOW);
    const all = [...(spec.active ?? []), ...(spec.deprecated ?? [])].map(({ thumbprint }) => thumbprint);
    expect(all.length).toBeLessThanOrEqual(17);
    expect(new Set(all).size).toBe(all.length);
  });
  fc.assert(property, { numRuns: 50 });
});
