import { expect, test } from "bun:test";
import { FakeClock } from "../clock/fake-clock.ts";
import { Registry } from "../metrics/metrics.ts";
import { Expectations } from "./expectations.ts";
import { type KubeObject, PODS, SECRETS } from "./resource.ts";

function world() {
  const clock = new FakeClock();
  const registry = new Registry();
  const timeouts = registry.counter({ name: "expectation_timeouts_total", help: "" });
  const cache = new Map<string, KubeObject>();
  const expectations = new Expectations({ clock, timeouts });
  expectations.watchedBy(PODS, (key) => cache.get(key));
  return { clock, registry, cache, expectations };
}

const pod = (resourceVersion: string, uid = "u1"): KubeObject => ({
  metadata: { namespace: "ns", name: "pod", uid, resourceVersion },
});

test("after a write the key waits until the cache shows it, or something newer", () => {
  const { cache, expectations } = world();
  expect(expectations.pendingMs("ns/a")).toBe(0);
  expectations.wrote("ns/a", PODS, pod("10"));
  expect(expectations.pendingMs("ns/a")).toBe(30_000);
  expect(expectations.pendingMs("ns/b")).toBe(0);
  cache.set("ns/pod", pod("9"));
  expect(expectations.pendingMs("ns/a")).toBe(30_000);
  cache.set("ns/pod", pod("11"));
  expect(expectations.pendingMs("ns/a")).toBe(0);
});

test("after a delete it waits until the object is gone or replaced", () => {
  const { cache, expectations } = world();
  cache.set("ns/pod", pod("9"));
  expectations.deleted("ns/a", PODS, pod("9"));
  expect(expectations.pendingMs("ns/a")).toBeGreaterThan(0);
  cache.set("ns/pod", pod("12", "u2"));
  expect(expectations.pendingMs("ns/a")).toBe(0);
});

test("an object that was written and then deleted by another shows as its successor", () => {
  const { cache, expectations } = world();
  expectations.wrote("ns/a", PODS, pod("10"));
  cache.set("ns/pod", pod("8", "u0"));
  expect(expectations.pendingMs("ns/a")).toBeGreaterThan(0);
  cache.set("ns/pod", pod("14", "u2"));
  expect(expectations.pendingMs("ns/a")).toBe(0);
});

test("a write to the same object replaces the older expectation", () => {
  const { cache, expectations } = world();
  expectations.wrote("ns/a", PODS, pod("10"));
  expectations.deleted("ns/a", PODS, pod("10"));
  expect(cache.size).toBe(0);
  expect(expectations.pendingMs("ns/a")).toBe(0);
});

test("what never shows up is given up after the timeout, and counted", async () => {
  const { clock, registry, expectations } = world();
  expectations.wrote("ns/a", PODS, pod("10"));
  await clock.advance(29_999);
  expect(expectations.pendingMs("ns/a")).toBe(1);
  await clock.advance(1);
  expect(expectations.pendingMs("ns/a")).toBe(0);
  expect(registry.text()).toContain("expectation_timeouts_total 1");
});

test("a kind that no cache holds is not waited for", () => {
  const { expectations } = world();
  expectations.wrote("ns/a", SECRETS, pod("10"));
  expect(expectations.pendingMs("ns/a")).toBe(0);
});

test("a write is shown when one of several caches of its kind shows it", () => {
  const expectations = new Expectations();
  const secret = (name: string) => ({ metadata: { namespace: "n", name, uid: name, resourceVersion: "5" } });
  const shown = new Map<string, KubeObject>();
  expectations.watchedBy(SECRETS, () => undefined);
  expectations.watchedBy(SECRETS, (key) => shown.get(key));
  expectations.wrote("me", SECRETS, secret("one"));
  expect(expectations.pendingMs("me")).toBeGreaterThan(0);
  shown.set("n/one", secret("one"));
  expect(expectations.pendingMs("me")).toBe(0);
});

test("what was written and taken away again by others is not waited for", () => {
  const expectations = new Expectations();
  let upTo: string | undefined = "10";
  expectations.watchedBy(
    PODS,
    () => undefined,
    () => upTo,
  );
  expectations.wrote("ns/a", PODS, pod("11"));
  expect(expectations.pendingMs("ns/a")).toBeGreaterThan(0);
  upTo = undefined;
  expect(expectations.pendingMs("ns/a")).toBeGreaterThan(0);
  upTo = "12";
  expect(expectations.pendingMs("ns/a")).toBe(0);
});
