/**
 * Keeps the webhooks' certificates: shared by all replicas through one Secret, rotated in good time, and the caBundle
 * of the webhook configuration right. Every replica runs it; whoever is first does the work, the others see a conflict,
 * read again and find it done.
 *
 * The configuration is always read before the Secret, and written only if unchanged since. A replica that was slow can
 * therefore never put back an older bundle: had a newer one been written meanwhile, its own write is a conflict.
 */
import type { Logger } from "../log/log.ts";
import { encodeCertificates, encodeKey, ROTATE_BEFORE_PERCENT, reasonOf, thumbprint } from "../pki/pki.ts";
import { type CertificatePolicy, planCertificates, takeStep } from "./certificate-plan.ts";
import { bundleOf, type CertificateState, decodeState, encodeState } from "./certificate-state.ts";
import type { CaBundles, CaBundleWriter, SecretStore, StoredSecret } from "./certificate-store.ts";
import { Pause } from "./pause.ts";
import type { ServedCertificate } from "./webhook-server.ts";

const DAY_MS = 86_400_000;

export const STANDARD_POLICY = {
  authorityLifetimeMs: 365 * DAY_MS,
  leafLifetimeMs: 30 * DAY_MS,
  rotateBeforePercent: ROTATE_BEFORE_PERCENT.standard,
  settleMs: 60_000,
} as const satisfies Omit<CertificatePolicy, "names">;

export interface WebhookCertificatesOptions {
  readonly secrets: SecretStore;
  readonly bundles: CaBundleWriter;
  readonly policy: CertificatePolicy;
  readonly log: Logger;
  /** How often the Secret and the bundle are looked at. Defaults to 10 s. */
  readonly pollMs?: number;
  /** Of each call to Kubernetes. Defaults to 10 s. */
  readonly callDeadlineMs?: number;
  /** Defaults to the clock of the machine. */
  readonly now?: () => Date;
}

export interface Refreshed {
  readonly certificate: ServedCertificate;
  /** When the next step is due. */
  readonly due: Date;
}

type Round = Refreshed | "again";

/** Each step is a round, and so is each conflict. More in a row means that somebody works against us. */
const MOST_ROUNDS = 20;

export class WebhookCertificates {
  readonly #options: WebhookCertificatesOptions;
  readonly #pause = new Pause();
  #known: CertificateState | undefined;
  #last: { readonly version: string; readonly state: CertificateState } | undefined;
  #problem: string | undefined = "the webhook certificates were not read yet";

  constructor(options: WebhookCertificatesOptions) {
    this.#options = options;
  }

  /** For readiness: what is wrong at the moment, in words. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Looks at once: for a watch that saw the Secret or the configuration change. */
  poke(): void {
    this.#pause.end();
  }

  /** Brings everything to where it should be now, and gives what is to be served. */
  async refresh(signal: AbortSignal): Promise<Refreshed> {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const result = await this.#round(signal);
      if (result !== "again") return result;
    }
    throw new Error(`the webhook certificates kept changing for ${MOST_ROUNDS} rounds: who else writes their Secret?`);
  }

  /** Refreshes and serves until the signal; a failure is logged, told by `problem` and tried again. */
  async run(serve: (certificate: ServedCertificate) => void, signal: AbortSignal): Promise<void> {
    const { pollMs = 10_000, log, now = () => new Date() } = this.#options;
    for (let failures = 0; !signal.aborted; ) {
      try {
        const { certificate, due } = await this.refresh(signal);
        serve(certificate);
        failures = 0;
        await this.#pause.wait(Math.min(pollMs, Math.max(0, due.getTime() - now().getTime())), signal);
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        this.#problem = `the webhook certificates cannot be kept: ${reasonOf(error)}`;
        log.error({ err: error, failures }, "webhook certificates could not be refreshed");
        await this.#pause.wait(Math.min(pollMs, 250 * 2 ** failures), signal);
      }
    }
  }

  async #round(signal: AbortSignal): Promise<Round> {
    const { secrets, bundles, policy, now = () => new Date() } = this.#options;
    const published = await this.#tryBundles(() => bundles.read(this.#deadline(signal)));
    const secret = await secrets.read(this.#deadline(signal));
    const state = await this.#stateOf(secret);
    const plan = planCertificates(state.value, policy, now());
    if (plan.step !== "wait") {
      const next = await takeStep(plan.step, state.value, policy, now());
      return this.#store(next, secret, `${plan.step}: ${plan.why}`, signal);
    }
    if (state.value === undefined) return "again";
    if (!state.stored) return this.#store(state.value, secret, "the Secret was lost and is put back", signal);
    return this.#publish(state.value, { secret, published, due: plan.until }, signal);
  }

  /** Settles the bundle, then the note that the next authority is in it. */
  async #publish(state: CertificateState, found: Found, signal: AbortSignal): Promise<Round> {
    const { bundles, now = () => new Date() } = this.#options;
    const { published, secret, due } = found;
    this.#known = state;
    const right = await this.#tryBundles(async () => {
      const wanted = bundleOf(state);
      if (published === "failed") return "failed" as const;
      if (published === undefined || published.bundles.every((bundle) => bundle === wanted)) return "written" as const;
      this.#options.log.info({ authorities: thumbprints(state) }, "webhook caBundle written");
      return bundles.write(wanted, published, this.#deadline(signal));
    });
    if (right === "conflict") return "again";
    if (right === "written") this.#problem = undefined;
    if (right === "written" && state.next !== undefined && state.next.publishedAt === undefined) {
      const noted = { ...state, next: { ...state.next, publishedAt: now() } };
      return this.#store(noted, secret, "the new authority is published", signal);
    }
    return { certificate: await servedOf(state), due };
  }

  /**
   * A Secret that is gone or unreadable while we still serve from it is put back, with a new authority beside it: who
   * deleted it wanted new certificates, and gets them without a failed call.
   */
  async #stateOf(secret: StoredSecret | undefined): Promise<{ value: CertificateState | undefined; stored: boolean }> {
    const { policy, log, now = () => new Date() } = this.#options;
    try {
      if (secret !== undefined) return { value: await this.#decoded(secret), stored: true };
    } catch (error) {
      log.warn({ reason: reasonOf(error) }, "webhook certificates in the Secret are unusable and will be replaced");
    }
    if (this.#known === undefined || this.#known.next !== undefined) return { value: this.#known, stored: false };
    return { value: await takeStep("add-authority", this.#known, policy, now()), stored: false };
  }

  /** Most looks find what the last one found; reading keys is not free. */
  async #decoded(secret: StoredSecret): Promise<CertificateState> {
    if (this.#last?.version === secret.resourceVersion) return this.#last.state;
    const state = await decodeState(secret.data);
    this.#last = { version: secret.resourceVersion, state };
    return state;
  }

  async #store(
    state: CertificateState,
    over: StoredSecret | undefined,
    why: string,
    signal: AbortSignal,
  ): Promise<Round> {
    const { secrets, log } = this.#options;
    const data = await encodeState(state);
    const deadline = this.#deadline(signal);
    const result = await (over === undefined
      ? secrets.create(data, deadline)
      : secrets.update({ data, resourceVersion: over.resourceVersion }, deadline));
    if (result === "conflict") log.debug({ why }, "another replica was first with the webhook certificates");
    else
      log.info(
        { why, leaf: thumbprint(state.leaf.certificate), authorities: thumbprints(state) },
        "webhook certificates stored",
      );
    return "again";
  }

  /** A bundle that cannot be read or written must not keep us from serving, nor from renewing the leaf. */
  async #tryBundles<T>(work: () => Promise<T>): Promise<T | "failed"> {
    try {
      return await work();
    } catch (error) {
      this.#problem = `the caBundle of the webhook configuration cannot be kept: ${reasonOf(error)}`;
      this.#options.log.error({ err: error }, "webhook caBundle could not be read or written");
      return "failed";
    }
  }

  #deadline(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(this.#options.callDeadlineMs ?? 10_000)]);
  }
}

interface Found {
  readonly secret: StoredSecret | undefined;
  readonly published: CaBundles | undefined | "failed";
  readonly due: Date;
}

function thumbprints({ current, next, old }: CertificateState): string[] {
  const all = [current.certificate, next?.credential.certificate, ...old.map(({ certificate }) => certificate)];
  return all.flatMap((certificate) => (certificate === undefined ? [] : thumbprint(certificate).slice(0, 16)));
}

async function servedOf({ leaf }: CertificateState): Promise<ServedCertificate> {
  return { cert: encodeCertificates([leaf.certificate]), key: await encodeKey(leaf.keys.privateKey) };
}
