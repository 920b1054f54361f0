/** The operator's own identity as every replica has it: read from the Secret that the leader keeps, replaced live. */
import { type Clock, systemClock } from "../../clock/clock.ts";
import { Wakeup } from "../../clock/wakeup.ts";
import type { Cache } from "../../kube/cache.ts";
import type { KubeClient } from "../../kube/client.ts";
import { keyOf, keyOfRef } from "../../kube/resource.ts";
import type { Logger } from "../../log/log.ts";
import { StoredIdentity, type TlsIdentity } from "../../rpc/identity.ts";
import {
  CERTIFICATE_FILE,
  type CertificateSecret,
  KEY_FILE,
  ROOTS_FILE,
  sequenceOf,
  textOf,
  viewOf,
  WHOLE_SECRETS,
  type WholeSecret,
} from "./certificate-secret.ts";
import { operatorSecretRef } from "./operator-bundle.ts";

export interface OperatorIdentityDeps {
  readonly client: Pick<KubeClient, "find">;
  /** The operator's own. */
  readonly namespace: string;
  readonly secrets: Cache<CertificateSecret>;
  readonly log: Logger;
  readonly clock?: Clock;
}

/** After a failed read, and in case that a change was not told. */
const LOOK_AGAIN_MS = 5000;

export class OperatorIdentity {
  readonly #deps: OperatorIdentityDeps;
  readonly #loaded = Promise.withResolvers<StoredIdentity>();
  readonly #news = new Wakeup();
  #stored: StoredIdentity | undefined;
  #sequence = -1;

  constructor(deps: OperatorIdentityDeps) {
    this.#deps = deps;
  }

  /** Undefined until the first one was issued and read. */
  get current(): TlsIdentity | undefined {
    return this.#stored?.current();
  }

  /** The root that it comes under. */
  get root(): string | undefined {
    const view = this.#view();
    return view.found === "certificate" ? view.root : undefined;
  }

  /** For servers and clients: resolves with what tells them of every later change. */
  async whenLoaded(signal: AbortSignal): Promise<StoredIdentity> {
    const { promise, reject } = Promise.withResolvers<never>();
    const aborted = () => reject(new Error("the operator's identity was not issued in time", { cause: signal.reason }));
    signal.addEventListener("abort", aborted, { once: true });
    if (signal.aborted) aborted();
    try {
      return await Promise.race([this.#loaded.promise, promise]);
    } finally {
      signal.removeEventListener("abort", aborted);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const key = keyOfRef(operatorSecretRef(this.#deps.namespace));
    const end = this.#deps.secrets.subscribe(({ object }) => {
      if (keyOf(object) === key) this.#news.notify();
    });
    while (!signal.aborted) {
      await this.#load(signal);
      await this.#news.wait(this.#deps.clock ?? systemClock, LOOK_AGAIN_MS, signal, () => this.#isBehind());
    }
    end();
  }

  #view() {
    const secret = this.#deps.secrets.get(operatorSecretRef(this.#deps.namespace));
    return viewOf(secret, secret);
  }

  #isBehind(): boolean {
    const view = this.#view();
    return view.found === "certificate" && view.sequence !== this.#sequence;
  }

  async #load(signal: AbortSignal): Promise<void> {
    if (!this.#isBehind()) return;
    const { client, namespace, log } = this.#deps;
    try {
      const secret = await client.find(WHOLE_SECRETS, operatorSecretRef(namespace), { signal });
      if (secret !== undefined) this.#take(secret);
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, "the operator's identity cannot be read, trying again");
    }
  }

  #take(secret: WholeSecret): void {
    const [certificate, key, authorities] = [CERTIFICATE_FILE, KEY_FILE, ROOTS_FILE].map((file) =>
      textOf(secret.data[file]),
    );
    if (!certificate || !key || !authorities) return;
    this.#sequence = sequenceOf(secret.data);
    const identity = { certificate, key, authorities };
    if (this.#stored === undefined) this.#stored = new StoredIdentity(identity);
    else this.#stored.replace(identity);
    this.#loaded.resolve(this.#stored);
    this.#deps.log.info({ sequence: this.#sequence }, "loaded the operator's identity");
  }
}
