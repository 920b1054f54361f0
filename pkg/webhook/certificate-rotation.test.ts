/** Three replicas, an API server that lags, and a clock, in any order: is what is served always trusted? */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { createLogger } from "../log/log.ts";
import { decodeCertificate, decodeCertificates, verifyChain } from "../pki/pki.ts";
import type { CertificatePolicy } from "./certificate-plan.ts";
import { MemoryStore } from "./test-store.ts";
import { WebhookCertificates } from "./webhook-certificates.ts";
import type { ServedCertificate } from "./webhook-server.ts";

const policy: CertificatePolicy = {
  names: { dns: ["webhook.svc"] },
  authorityLifetimeMs: 200_000,
  leafLifetimeMs: 120_000,
  rotateBeforePercent: 70,
  settleMs: 10_000,
};
const LAG_MS = 9000;
const never = new AbortController().signal;

interface Move {
  readonly seconds: number;
  /** Which replicas look, all at once. */
  readonly looking: readonly number[];
  /** Whether the API server learns of the present bundle; it does at the latest after LAG_MS. */
  readonly learns: boolean;
  /** Once in a while: somebody deletes the Secret, or a replica is killed and comes back with no memory. */
  readonly mishap: "none" | "delete" | "restart";
}

const move: fc.Arbitrary<Move> = fc.record({
  seconds: fc.integer({ min: 0, max: 12 }),
  looking: fc.subarray([0, 1, 2]),
  learns: fc.boolean(),
  mishap: fc.nat(40).map((n) => (n === 7 ? "delete" : n > 36 ? "restart" : "none")),
});

class ApiServerAway extends Error {}

class Scene {
  readonly store: MemoryStore;
  readonly served: ServedCertificate[] = [];
  switches = 0;
  faults = false;
  #ms = Date.UTC(2026, 0, 1);
  #view = { bundle: "", at: 0 };
  readonly #replicas: WebhookCertificates[];

  /** Calls take turns at random, and one in thirty fails, before or after it took effect. */
  constructor(random: (below: number) => number) {
    this.store = new MemoryStore(async () => {
      for (let turns = random(4); turns > 0; turns--) await Promise.resolve();
      if (this.faults && random(60) === 0) throw new ApiServerAway("no answer");
    });
    this.#replicas = [0, 1, 2].map(() => this.#start());
  }

  #start(): WebhookCertificates {
    const log = createLogger({ program: "test", level: "fatal" });
    return new WebhookCertificates({ ...this.store.clients, policy, log, now: () => new Date(this.#ms) });
  }

  async play({ seconds, looking, learns, mishap }: Move): Promise<void> {
    this.#ms += seconds * 1000;
    if (learns) this.learn();
    if (mishap === "delete") this.store.secret = undefined;
    if (mishap === "restart") this.#replicas[looking[0] ?? 0] = this.#start();
    await this.look(looking);
    if (this.#ms - this.#view.at > LAG_MS) this.learn();
    for (const certificate of this.served) await this.#check(certificate);
  }

  learn(): void {
    this.#view = { bundle: this.store.bundle.bundles[0] ?? "", at: this.#ms };
  }

  async look(looking: readonly number[]): Promise<void> {
    await Promise.all(
      looking.map(async (index) => {
        try {
          const refreshed = await this.#replicas[index]?.refresh(never);
          if (refreshed !== undefined) this.served[index] = refreshed.certificate;
        } catch (error) {
          if (!(error instanceof ApiServerAway)) throw error;
        }
      }),
    );
  }

  async #check({ cert }: ServedCertificate): Promise<void> {
    const roots = decodeCertificates(this.#view.bundle, "bundle");
    if (roots.length > 1) this.switches++;
    const leaf = decodeCertificate(cert, "leaf");
    const verdict = await verifyChain({ leaf, roots, now: new Date(this.#ms), usage: "server" });
    // A replica that did not look until its leaf ran out is late by its own fault.
    if (leaf.notAfter.getTime() > this.#ms) expect(verdict.ok ? "trusted" : verdict.reason).toBe("trusted");
  }
}

test("whatever the order of replicas and API servers, a served certificate is trusted", async () => {
  let overlaps = 0;
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(move, { minLength: 40, maxLength: 60 }), async (seed, moves) => {
      let state = seed;
      const random = (below: number) => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) % below;
      const scene = new Scene(random);
      await scene.look([0, 1, 2]);
      scene.learn();
      scene.faults = true;
      // Deleted while nobody who remembers is there, everything is made anew: that is another test's.
      const kept = seed % 2 === 0 ? "delete" : "restart";
      for (const move of moves) await scene.play({ ...move, mishap: move.mishap === kept ? kept : "none" });
      overlaps += scene.switches;
    }),
    { numRuns: 3, endOnFailure: true },
  );
  expect(overlaps).toBeGreaterThan(0);
}, 60_000);
