import { expect, test } from "bun:test";
import { createLogger } from "../log/log.ts";
import { decodeCertificate, decodeCertificates, verifyChain } from "../pki/pki.ts";
import type { CertificatePolicy } from "./certificate-plan.ts";
import { MemoryStore } from "./test-store.ts";
import { WebhookCertificates } from "./webhook-certificates.ts";
import type { ServedCertificate } from "./webhook-server.ts";

const log = createLogger({ program: "test", level: "fatal" });
const policy: CertificatePolicy = {
  names: { dns: ["webhook.valkey-system.svc"], ip: ["127.0.0.1", "::1"] },
  authorityLifetimeMs: 300_000,
  leafLifetimeMs: 180_000,
  rotateBeforePercent: 75,
  settleMs: 10_000,
};
const never = new AbortController().signal;

/** Replicas over one store and one clock that only the test moves. */
function world(yields?: () => Promise<void>) {
  const store = new MemoryStore(yields);
  const clock = { ms: Date.UTC(2026, 0, 1) };
  const now = () => new Date(clock.ms);
  const replica = (more: Partial<CertificatePolicy> = {}) =>
    new WebhookCertificates({ ...store.clients, policy: { ...policy, ...more }, log, now });
  return { store, clock, now, replica };
}

async function trusted(served: ServedCertificate, bundle: string, now: Date): Promise<string> {
  const leaf = decodeCertificate(served.cert, "leaf");
  const roots = decodeCertificates(bundle, "bundle");
  const verdict = await verifyChain({ leaf, roots, now, usage: "server" });
  return verdict.ok ? "trusted" : verdict.reason;
}

const authorities = (bundle: string | undefined) => decodeCertificates(bundle ?? "", "bundle").length;

test("two replicas that start at once serve one certificate under one authority", async () => {
  const { store, replica, now } = world(async () => Bun.sleep(0));
  const [a, b] = await Promise.all([replica().refresh(never), replica().refresh(never)]);
  expect(a.certificate).toEqual(b.certificate);
  expect(await trusted(a.certificate, store.bundle.bundles[0] ?? "", now())).toBe("trusted");
});

test("when nothing is due nothing is written", async () => {
  const { store, replica } = world();
  const { certificate } = await replica().refresh(never);
  const { writes } = store;
  expect((await replica().refresh(never)).certificate).toEqual(certificate);
  expect(store.writes).toBe(writes);
});

test("the leaf is renewed in its time, under the same authority", async () => {
  const { store, clock, replica } = world();
  const first = await replica().refresh(never);
  const bundle = store.bundle.bundles[0];
  clock.ms = first.due.getTime() - 1;
  expect((await replica().refresh(never)).certificate).toEqual(first.certificate);
  clock.ms += 1;
  expect((await replica().refresh(never)).certificate).not.toEqual(first.certificate);
  expect(store.bundle.bundles[0]).toBe(bundle ?? "");
});

test("an authority is published before it signs, and withdrawn when its last leaf is over", async () => {
  const { store, clock, replica } = world();
  const one = replica();
  const seen: number[] = [];
  for (let second = 0; second <= 600; second += 10) {
    await one.refresh(never);
    const count = authorities(store.bundle.bundles[0]);
    if (seen.at(-1) !== count) seen.push(count);
    clock.ms += 10_000;
  }
  expect(seen.slice(0, 3)).toEqual([1, 2, 1]);
});

test("names that changed give a new leaf", async () => {
  const { replica } = world();
  const before = await replica().refresh(never);
  const after = await replica({ names: { dns: ["other.svc"] } }).refresh(never);
  expect(after.certificate).not.toEqual(before.certificate);
});

test("a caBundle that somebody changed is put right", async () => {
  const { store, replica } = world();
  await replica().refresh(never);
  const [right = ""] = store.bundle.bundles;
  store.bundle = { bundles: ["", "garbage"], resourceVersion: "x" };
  await replica().refresh(never);
  expect(store.bundle.bundles).toEqual([right, right]);
});

test("a slow replica never puts back an older bundle over a newer one", async () => {
  const { store, clock, now, replica } = world();
  await replica().refresh(never);
  store.bundle = { bundles: [""], resourceVersion: "x" };
  const { bundles } = store.clients;
  let overtaken = false;
  const write: typeof bundles.write = async (...call) => {
    if (!overtaken) {
      overtaken = true;
      clock.ms += policy.authorityLifetimeMs * 0.8;
      await replica().refresh(never);
    }
    return bundles.write(...call);
  };
  await new WebhookCertificates({ ...store.clients, bundles: { ...bundles, write }, policy, log, now }).refresh(never);
  expect(overtaken).toBe(true);
  expect(authorities(store.bundle.bundles[0])).toBe(2);
});

test("a deleted Secret gives new certificates without a moment in which the served one is not trusted", async () => {
  const { store, clock, now, replica } = world();
  const [one, two] = [replica(), replica()];
  const before = await one.refresh(never);
  await two.refresh(never);
  store.secret = undefined;
  expect((await one.refresh(never)).certificate).toEqual(before.certificate);
  expect((await two.refresh(never)).certificate).toEqual(before.certificate);
  clock.ms += policy.settleMs;
  const after = await one.refresh(never);
  expect(after.certificate).not.toEqual(before.certificate);
  for (const served of [before, after]) {
    expect(await trusted(served.certificate, store.bundle.bundles[0] ?? "", now())).toBe("trusted");
  }
});

test("a Secret that cannot be read is replaced", async () => {
  const { store, now, replica } = world();
  await replica().refresh(never);
  for (const key of ["tls.key", "ca.crt", "times.json"]) {
    store.secret = { data: { ...store.secret?.data, [key]: "nonsense" }, resourceVersion: `broken ${key}` };
    const { certificate } = await replica().refresh(never);
    expect(await trusted(certificate, store.bundle.bundles[0] ?? "", now())).toBe("trusted");
  }
});

test("a bundle that cannot be written keeps nobody from serving, and is told", async () => {
  const { store, now } = world();
  const write = async () => Promise.reject(new Error("forbidden"));
  const one = new WebhookCertificates({
    ...store.clients,
    bundles: { ...store.clients.bundles, write },
    policy,
    log,
    now,
  });
  expect((await one.refresh(never)).certificate.cert).toContain("CERTIFICATE");
  expect(one.problem).toContain("forbidden");
});

test("run serves, is woken by poke, goes on after a failure and ends with its signal", async () => {
  const { store, replica, clock } = world();
  const stop = new AbortController();
  const served: ServedCertificate[] = [];
  const { secrets } = store.clients;
  let failing = false;
  const read: typeof secrets.read = async (signal) =>
    failing ? Promise.reject(new Error("API server away")) : secrets.read(signal);
  const one = new WebhookCertificates({
    ...store.clients,
    secrets: { ...secrets, read },
    policy,
    log,
    pollMs: 60_000,
    now: () => new Date(clock.ms),
  });
  const running = one.run((certificate) => served.push(certificate), stop.signal);
  while (served.length < 1) await Bun.sleep(1);
  expect(one.problem).toBeUndefined();
  failing = true;
  one.poke();
  while (one.problem === undefined) await Bun.sleep(1);
  expect(one.problem).toContain("API server away");
  failing = false;
  clock.ms += policy.leafLifetimeMs;
  one.poke();
  while (served.length < 2) await Bun.sleep(1);
  expect((await replica().refresh(never)).certificate).toEqual(served[1] ?? { cert: "", key: "" });
  stop.abort();
  await running;
});
