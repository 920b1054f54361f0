/** A leader whose way to the API server breaks in every manner: never do two lead, and it comes back by itself. */
import { afterAll, expect, test } from "bun:test";
import { LeaderElector } from "../../pkg/kube/lease.ts";
import { leaseStore } from "../../pkg/kube/lease-store.ts";
import type { Term } from "../../pkg/kube/lease-term.ts";
import { createLogger } from "../../pkg/log/log.ts";
import { type Fault, FaultProxy } from "../lib/fault-proxy.ts";
import { clientOf, withNamespace } from "../lib/kube.ts";
import { until } from "../lib/until.ts";

const direct = clientOf();
const log = createLogger({ program: "test", level: "fatal" });
const TIMING = { leaseDurationMs: 6000, renewDeadlineMs: 4000, retryPeriodMs: 400 };

afterAll(() => direct.close());

class Candidate {
  readonly terms: Term[] = [];
  /** When its terms began and ended. */
  readonly began: number[] = [];
  readonly ended: number[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(client: ReturnType<typeof clientOf>, namespace: string, identity: string) {
    const store = leaseStore(client, { namespace, name: "lease" });
    const elector = new LeaderElector({ store, identity, log, ...TIMING });
    this.#running = elector.run(async (term) => {
      this.terms.push(term);
      this.began.push(performance.now());
      term.signal.addEventListener("abort", () => this.ended.push(performance.now()), { once: true });
      await until("the term is over", () => term.signal.aborted || this.#stop.signal.aborted, { timeoutMs: 120_000 });
    }, this.#stop.signal);
  }

  leads(): boolean {
    return this.terms.at(-1)?.valid() === true;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

/** The far one reaches the server through a proxy; `trial` breaks that. Watches all the time that not both lead. */
async function two(trial: (proxy: FaultProxy, far: Candidate, near: Candidate) => Promise<void>): Promise<void> {
  await withNamespace(direct, async (namespace) => {
    const proxy = await FaultProxy.start({ upstream: direct.transport.connection });
    const client = clientOf(proxy.connection);
    const far = new Candidate(client, namespace, "far");
    await until("the far one leads", () => far.leads());
    const near = new Candidate(direct, namespace, "near");
    let both = 0;
    const looking = setInterval(() => {
      if (far.leads() && near.leads()) both += 1;
    }, 5);
    try {
      await trial(proxy, far, near);
      expect(both).toBe(0);
    } finally {
      clearInterval(looking);
      proxy.clear();
      await far.stop();
      await near.stop();
      client.close();
      await proxy.close();
    }
  });
}

const SILENCES: readonly Fault[] = [{ kind: "half-open" }, { kind: "refuse", status: 500, times: 1e9 }];

for (const fault of SILENCES) {
  test(`${fault.kind}: the far leader stops by itself, then the near one begins`, async () => {
    await two(async (proxy, far, near) => {
      proxy.set(fault);
      await until("the far one has stopped", () => far.terms[0]?.signal.aborted === true);
      await until("the near one leads", () => near.leads());
      expect(near.began[0]).toBeGreaterThan(far.ended[0] ?? Number.POSITIVE_INFINITY);
      expect(near.terms[0]?.token).toBeGreaterThan(far.terms[0]?.token ?? 0);
      proxy.clear();
      await near.stop();
      await until("the far one leads again", () => far.leads());
      expect(far.terms.at(-1)?.token).toBeGreaterThan(near.terms[0]?.token ?? 0);
    });
  }, 300_000);
}

test("connections cut, requests refused now and then, slow answers: the term goes on", async () => {
  await two(async (proxy, far, near) => {
    for (let n = 0; n < 10; n += 1) {
      proxy.cut();
      proxy.set({ kind: "refuse", status: 500, times: 1 });
      await Bun.sleep(300);
      proxy.set({ kind: "refuse", status: 429, times: 1, retryAfter: 1 });
      await Bun.sleep(300);
      proxy.set({ kind: "slow", delayMs: 20 });
      await Bun.sleep(300);
    }
    expect(far.leads()).toBe(true);
    expect(far.terms).toHaveLength(1);
    expect(near.terms).toHaveLength(0);
  });
}, 300_000);
