import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { pino } from "pino";
import { FakeClock } from "../clock/fake-clock.ts";
import { Registry } from "../metrics/metrics.ts";
import { EventRecorder, eventMetrics, type NewEvent } from "./events.ts";
import { EventCorrelator } from "./events-correlate.ts";
import { redactSecrets } from "./events-redact.ts";
import { KubeError } from "./kube-error.ts";

const regarding = { apiVersion: "valkey.io/v1alpha1", kind: "ValkeyCluster", namespace: "ns", name: "c", uid: "u" };
const event = (note: string, more: Partial<NewEvent> = {}): NewEvent => ({
  regarding,
  type: "Normal",
  reason: "Tested",
  action: "Test",
  note,
  ...more,
});

describe("correlation", () => {
  test("the same event again is counted, another note is another event", () => {
    const correlator = new EventCorrelator();
    const first = correlator.add(event("a"), 1000);
    expect(correlator.add(event("a"), 2000)).toBe(first);
    expect(first).toMatchObject({ count: 2, firstAt: 1000, lastAt: 2000 });
    expect(correlator.add(event("b"), 2000)).not.toBe(first);
  });

  test("`same` makes notes with changing numbers one event", () => {
    const correlator = new EventCorrelator();
    const first = correlator.add(event("shard 2 not in sync for 3 s", { same: "shard 2" }), 0);
    expect(correlator.add(event("shard 2 not in sync for 4 s", { same: "shard 2" }), 0)).toBe(first);
  });

  test("a series ends with ten minutes of silence", () => {
    const correlator = new EventCorrelator();
    const first = correlator.add(event("a"), 0);
    expect(correlator.add(event("a"), 10 * 60_000)).not.toBe(first);
  });

  test("too many notes of one reason are combined, too many events of one object dropped", () => {
    const correlator = new EventCorrelator();
    const series = new Set(Array.from({ length: 50 }, (_, n) => correlator.add(event(`note ${n}`), 0)));
    expect(series.size).toBe(11);
    expect([...series].at(-1)).toMatchObject({ count: 40, event: { note: "(combined from similar events) note 10" } });
    const kinds = Array.from({ length: 50 }, (_, n) => correlator.add(event("x", { reason: `R${n}` }), 0));
    expect(kinds.filter((each) => each === undefined)).toHaveLength(50 - 14);
    expect(correlator.add(event("y", { regarding: { ...regarding, uid: "other" } }), 0)).toBeDefined();
  });

  test("a note fits the limit of the API in bytes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 300, maxLength: 3000 }), (note) => {
        const series = new EventCorrelator().add(event(note), 0);
        expect(Buffer.byteLength(series?.event.note ?? "")).toBeLessThanOrEqual(1024);
      }),
      { numRuns: 30 },
    );
  });
});

describe("secrets", () => {
  const secret = "hunter2-S3cr3t";
  const carriers = [
    (it: string) => `ERR CONFIG SET requirepass ${it} failed`,
    (it: string) => `masterauth "${it} x"`,
    (it: string) => `ACL SETUSER app on >${it} ~* +@all`,
    (it: string) => `AUTH app ${it}`,
    (it: string) => `cannot reach valkey://app:${it}@host:6379/0`,
    (it: string) => `{"password":"${it}","user":"app"}`,
    (it: string) => `env VALKEY_PASSWORD=${it}, next`,
    (it: string) => `s3 secret_key: ${it}`,
    (it: string) => `authorization: Bearer ${it}`,
    (it: string) => `-----BEGIN EC PRIVATE KEY-----\n${it}\n-----END EC PRIVATE KEY-----`,
    (it: string) => `-----BEGIN PRIVATE KEY-----\n${it} cut off`,
  ];

  for (const carry of carriers) {
    test(`are taken out of: ${JSON.stringify(carry("…"))}`, () => {
      expect(redactSecrets(carry(secret))).not.toContain(secret);
    });
  }

  test("are taken out as hashes and web tokens too; plain words stay", () => {
    expect(redactSecrets(`user a on #${"0a".repeat(32)}`)).toBe("user a on [redacted]");
    expect(redactSecrets("token eyJhbGciOi.eyJzdWIiOi.c2ln refused")).toBe("token [redacted] refused");
    const plain = "shard 2: pod c-2-1 took over from c-2-0 after 34 ms (offset 1024 -> 1031)";
    expect(redactSecrets(plain)).toBe(plain);
  });
});

/** An API server for events only, as far as the recorder can see. */
function world() {
  const clock = new FakeClock();
  const registry = new Registry();
  const calls: { readonly verb: string; readonly body: unknown }[] = [];
  const failures: KubeError[] = [];
  const answer = async (verb: string, body: unknown) => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    calls.push({ verb, body });
  };
  const store = {
    create: async (body: object) => answer("create", body),
    update: async (_ref: object, change: object) => answer("update", change),
  };
  const log = pino({ level: "silent" });
  const metrics = eventMetrics(registry);
  const recorder = new EventRecorder({ store, controller: "valkey.io/test", instance: "i", log, clock, metrics });
  const abort = new AbortController();
  const running = recorder.run(abort.signal);
  const stop = async () => {
    abort.abort();
    await clock.advance(5000);
    await running;
  };
  return { clock, registry, calls, failures, recorder, stop };
}

describe("the recorder", () => {
  test("writes an event once, and its repetitions as a series every 30 s", async () => {
    const { clock, calls, recorder, stop } = world();
    for (let n = 0; n < 3; n += 1) recorder.record(event("a"));
    await clock.advance(1000);
    expect(calls).toMatchObject([{ verb: "create", body: { note: "a", series: { count: 3 } } }]);
    recorder.record(event("a"));
    recorder.record(event("a"));
    await clock.advance(28_000);
    expect(calls).toHaveLength(1);
    await clock.advance(3000);
    expect(calls[1]).toMatchObject({ verb: "update", body: { series: { count: 5 } } });
    await stop();
  });

  test("tries again when the server is away, and gives up on what it refuses", async () => {
    const { clock, calls, failures, recorder, registry, stop } = world();
    failures.push(new KubeError({ code: "unreachable", action: "create Event", message: "down" }));
    recorder.record(event("a"));
    await clock.advance(1500);
    expect(calls).toHaveLength(1);
    failures.push(new KubeError({ code: "forbidden", action: "create Event", message: "no" }));
    recorder.record(event("b"));
    await clock.advance(60_000);
    expect(calls).toHaveLength(1);
    expect(registry.text()).toContain('events_total{outcome="failed"} 1');
    await stop();
  });

  test("an event that the server has forgotten is made anew", async () => {
    const { clock, calls, failures, recorder, stop } = world();
    recorder.record(event("a"));
    await clock.advance(1000);
    failures.push(new KubeError({ code: "not-found", action: "patch Event", message: "gone" }));
    recorder.record(event("a"));
    await clock.advance(31_000);
    expect(calls.map(({ verb }) => verb)).toEqual(["create", "create"]);
    await stop();
  });

  test("never holds more than its line, whatever comes in", async () => {
    const { clock, calls, recorder, registry, stop } = world();
    for (let n = 0; n < 3000; n += 1) recorder.record(event("a", { regarding: { ...regarding, name: `c-${n}` } }));
    expect(registry.text()).toContain('events_total{outcome="dropped"} 2000');
    await clock.advance(1000);
    expect(calls.length).toBeLessThanOrEqual(61);
    await stop();
  });

  test("at the end what is left is written within the grace", async () => {
    const { calls, recorder, stop } = world();
    recorder.record(event("last words"));
    await stop();
    expect(calls).toHaveLength(1);
  });
});
