import { describe, expect, test } from "bun:test";
import type { ValkeyCASpec } from "../api/ca.ts";
import { type CAInput, planCA, type Root, type RootUsers, type RootView } from "./ca.ts";

const SPEC: ValkeyCASpec = { caCertSecretRef: "root", secretType: "Secret", validForDays: 100 };
const NOW = new Date("2030-01-01T00:00:00Z");
const inDays = (days: number) => new Date(NOW.getTime() + days * 86_400_000);
const root = (from: number, to: number, more: Partial<Root> = {}) =>
  ({
    found: "root",
    thumbprint: "ab",
    notBefore: inDays(from),
    notAfter: inDays(to),
    made: true,
    old: [],
    ...more,
  }) as const;
const NOBODY: RootUsers = { distrusting: [], behind: [], operatorSince: undefined };

function plan(view: RootView, more: Partial<CAInput> = {}) {
  return planCA({ spec: SPEC, root: view, users: NOBODY, rotation: undefined, ...more }, NOW);
}

describe("the root of a ValkeyCA", () => {
  test("is made when there is none, and not before that is known", () => {
    expect(plan({ found: "nothing" }).steps).toEqual([{ do: "make-root" }]);
    expect(plan({ found: "unknown" })).toMatchObject({ steps: [], status: { phase: "Pending" } });
  });

  test("is left alone when there is one, good or bad", () => {
    expect(plan(root(0, 100))).toMatchObject({ steps: [], holds: [], status: { phase: "Ready" } });
    const bad = plan({ found: "unusable", why: "tls.key is missing" });
    expect(bad).toMatchObject({ steps: [], status: { phase: "Error" } });
    expect(bad.holds[0]?.reason).toContain("tls.key is missing");
  });

  test("is expiring in the last fifth of its life, then expired", () => {
    const given = { made: false };
    expect(plan(root(-81, 19, given)).status).toMatchObject({ phase: "Expiring" });
    expect(plan(root(-79, 21, given)).status.phase).toBe("Ready");
    expect(plan(root(-100, 0, given)).status.phase).toBe("Expired");
  });

  test("is never made for a store that only others write", () => {
    const missing = plan({ found: "nothing" }, { spec: { ...SPEC, secretType: "SecretsStore" } });
    expect(missing.steps).toEqual([]);
    expect(missing.holds[0]?.reason).toContain("--secrets-store-path");
  });
});

describe("the successor of a root", () => {
  const next = { thumbprint: "cd", since: inDays(-20) };
  const old = [{ thumbprint: "00", notAfter: inDays(5) }];

  test("is made after three quarters of its life, or when somebody wishes it, and only for a root that we made", () => {
    expect(plan(root(-76, 24)).steps).toEqual([{ do: "make-next-root" }]);
    expect(plan(root(-74, 26)).steps).toEqual([]);
    expect(plan(root(-1, 99), { rotation: "today" }).steps).toEqual([{ do: "make-next-root" }]);
    expect(plan(root(-1, 99, { rotation: "today" }), { rotation: "today" }).steps).toEqual([]);
    expect(plan(root(-76, 24, { made: false }), { rotation: "today" }).steps).toEqual([]);
  });

  test("signs when everybody trusts it and the time for clients to fetch it is over", () => {
    const distrusting = { ...NOBODY, distrusting: ["shop/cart-0-0-identity"] };
    const waiting = plan(root(-80, 20, { next }), { users: distrusting });
    expect(waiting.steps).toEqual([]);
    expect(waiting.holds).toMatchObject([{ name: "next-root-not-trusted" }]);
    expect(waiting.status.message).toContain("cart-0-0");
    expect(plan(root(-80, 20, { next })).steps).toEqual([{ do: "sign-with-next-root" }]);
    const young = plan(root(-80, 20, { next: { ...next, since: inDays(-1) } }));
    expect(young.holds).toMatchObject([{ name: "next-root-is-new" }]);
  });

  test("is not waited for when the old one ends", () => {
    const users = { ...NOBODY, distrusting: ["one that is away"] };
    expect(plan(root(-96, 4, { next }), { users }).steps).toEqual([{ do: "sign-with-next-root" }]);
  });

  test("takes over without a month's wait when it was wished for", () => {
    const wished = { thumbprint: "cd", since: new Date(NOW.getTime() - 61_000) };
    expect(plan(root(-10, 90, { next: wished }), { rotation: "now" }).steps).toEqual([{ do: "sign-with-next-root" }]);
  });

  test("ends the trust in the old one when nothing of it is in use any more", () => {
    const inUse = plan(root(-1, 99, { old }), { users: { ...NOBODY, behind: ["shop/cart"] } });
    expect(inUse.holds).toMatchObject([{ name: "old-root-in-use" }]);
    expect(plan(root(-1, 99, { old, signsSince: NOW })).holds).toMatchObject([{ name: "new-root-is-young" }]);
    const users = { ...NOBODY, operatorSince: new Date(NOW.getTime() - 1000) };
    expect(plan(root(-1, 99, { old, signsSince: inDays(-1) }), { users }).holds).toMatchObject([
      { name: "new-root-is-young" },
    ]);
    expect(plan(root(-1, 99, { old, signsSince: inDays(-1) })).steps).toEqual([{ do: "drop-old-roots" }]);
  });

  test("gets its place when the writer was cut off between key and certificate", () => {
    expect(plan(root(-10, 90, { next, halfChanged: true })).steps).toEqual([{ do: "sign-with-next-root" }]);
  });
});
