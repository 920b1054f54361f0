import { describe, expect, test } from "bun:test";
import { type LeafInput, type LeafMember, type ProcessSight, planLeaves } from "./leaves.ts";
import type { AuthorityView, CertificateView, Held } from "./view.ts";

const NOW = new Date("2030-01-01T00:00:00Z");
const at = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);

function certificate(more: Partial<Held> = {}): CertificateView & { found: "certificate" } {
  const life = { notBefore: at(-10), notAfter: at(90), trustSince: at(-10) };
  const chain = { issuer: "intermediate", root: "root", trusts: ["root"] };
  return { found: "certificate", thumbprint: "leaf", request: "r", sequence: 1, ...chain, ...life, ...more };
}
const seen = (more: Partial<ProcessSight> = {}): ProcessSight => ({
  shows: "leaf",
  accepts: ["root"],
  lookAt: at(-1),
  ...more,
});
const member = (name: string, more: Partial<LeafMember> = {}): LeafMember => ({
  name,
  request: "r",
  held: certificate(),
  process: seen(),
  ...more,
});
const AUTHORITY: AuthorityView = { ready: true, root: "root", notAfter: at(9999), next: undefined, trusted: ["root"] };

function plan(members: readonly LeafMember[], more: Partial<LeafInput> = {}) {
  const intermediate = certificate({ thumbprint: "intermediate", issuer: "root" });
  const input = { deployment: "ValkeyCluster shop/cart", authority: AUTHORITY, intermediate, rotateBeforePercent: 66 };
  return planLeaves({ ...input, members, ...more }, NOW);
}

describe("the certificates of a deployment", () => {
  test("are left alone when all is well", () => {
    expect(plan([member("a"), member("b")])).toMatchObject({ steps: [], holds: [], settled: true });
  });

  test("are issued side by side where they are missing, broken, for something else, or due", () => {
    const members = [
      member("missing", { held: { found: "nothing" }, process: undefined }),
      member("broken", { held: { found: "unusable", why: "tls.key is missing" } }),
      member("other", { request: "another" }),
      member("due", { held: certificate({ notBefore: at(-70), notAfter: at(30) }) }),
      member("stranger", { held: certificate({ issuer: "an older intermediate" }) }),
      member("good"),
    ];
    const [step, ...more] = plan(members).steps;
    expect(step).toMatchObject({ do: "issue-certificates", names: ["missing", "broken", "other", "due", "stranger"] });
    expect(more).toEqual([]);
  });

  test("wait until there is somebody to sign them, and say for whom", () => {
    const waiting = plan([member("a")], { authority: { ready: false, why: "ValkeyCA x has no root" } });
    expect(waiting).toMatchObject({
      steps: [],
      holds: [{ name: "authority-not-ready", reason: "ValkeyCA x has no root" }],
    });
    expect(plan([member("a")], { intermediate: { found: "nothing" } }).holds[0]?.name).toBe("intermediate-not-ready");
  });

  test("trust the next root before anything comes under it, and are asked whether they do", () => {
    const authority: AuthorityView = { ...AUTHORITY, next: "next", trusted: ["root", "next"] };
    expect(plan([member("a")], { authority }).steps).toEqual([
      { do: "change-trust", lane: "write", names: ["a"], roots: ["root", "next"] },
    ]);
    const told = member("a", { held: certificate({ trusts: ["root", "next"] }) });
    expect(plan([told], { authority }).steps).toEqual([
      { do: "verify-processes", lane: "verify", names: ["a"], roots: ["root", "next"] },
    ]);
  });

  test("come under a new root when all trust it; who is about to end does not wait", () => {
    const authority: AuthorityView = { ...AUTHORITY, root: "new", trusted: ["new", "root"] };
    const intermediate = certificate({ thumbprint: "fresh", issuer: "new", root: "new" });
    const trusts = ["new", "root"];
    const ready = member("ready", { held: certificate({ trusts }), process: seen({ accepts: ["root", "new"] }) });
    const late = member("late", { held: certificate({ trusts }), process: seen({ lookAt: at(1) }) });
    const held = plan([ready, late], { authority, intermediate });
    expect(held.steps).toEqual([]);
    expect(held.holds).toMatchObject([{ name: "new-root-not-trusted" }]);
    expect(held.holds[0]?.reason).toContain("waiting for late");
    expect(plan([ready], { authority, intermediate }).steps).toMatchObject([
      { do: "issue-certificates", names: ["ready"] },
    ]);
    const ending = member("ending", {
      held: certificate({ trusts, notBefore: at(-95), notAfter: at(5) }),
      process: seen({ lookAt: at(1) }),
    });
    const pressing = plan([ready, late, ending], { authority, intermediate });
    expect(pressing.steps).toMatchObject([{ do: "issue-certificates", names: ["ending"] }]);
  });

  test("are renewed under the same root although somebody cannot be reached", () => {
    const away = member("away", { process: seen({ shows: undefined, accepts: [], lookAt: at(1) }) });
    const due = member("due", { held: certificate({ notBefore: at(-70), notAfter: at(30) }) });
    expect(plan([away, due])).toMatchObject({ steps: [{ do: "issue-certificates", names: ["due"] }], holds: [] });
  });

  test("are looked at soon after every step, since its outcome decides when the next one is due", () => {
    expect(plan([member("a", { process: seen({ shows: "old" }) })]).requeueAfterMs).toBe(1000);
  });

  test("look again when the next one is due or may be asked", () => {
    expect(plan([member("a")]).requeueAfterMs).toBe(56 * 60_000);
    expect(plan([member("a", { process: seen({ shows: "old", lookAt: at(1) }) })]).requeueAfterMs).toBe(60_000);
  });
});
