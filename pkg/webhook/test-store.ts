/** For tests: a Secret and a webhook configuration with the API server's rules about versions, in memory. */
import type { CaBundles, CaBundleWriter, SecretStore, StoredSecret } from "./certificate-store.ts";

/** `yields` is awaited before each call takes effect: where other callers get in between. */
export class MemoryStore {
  secret: StoredSecret | undefined;
  bundle: CaBundles = { bundles: [""], resourceVersion: "0" };
  writes = 0;
  readonly clients: { readonly secrets: SecretStore; readonly bundles: CaBundleWriter };
  readonly #yields: () => Promise<void>;
  #version = 0;

  constructor(yields: () => Promise<void> = async () => {}) {
    this.#yields = yields;
    const secrets: SecretStore = {
      read: async () => this.#call(() => this.secret),
      create: async (data) => this.#write(() => (this.secret === undefined ? this.#put(data) : "conflict")),
      update: async ({ data, resourceVersion }) =>
        this.#write(() => (this.secret?.resourceVersion === resourceVersion ? this.#put(data) : "conflict")),
    };
    const bundles: CaBundleWriter = {
      read: async () => this.#call(() => this.bundle),
      write: async (bundle, over) => this.#write(() => this.#putBundle(bundle, over.resourceVersion)),
    };
    this.clients = { secrets, bundles };
  }

  #put(data: StoredSecret["data"]): StoredSecret {
    this.secret = { data, resourceVersion: String(++this.#version) };
    return this.secret;
  }

  #putBundle(bundle: string, version: string): "written" | "conflict" {
    if (this.bundle.resourceVersion !== version) return "conflict";
    this.bundle = { bundles: this.bundle.bundles.map(() => bundle), resourceVersion: String(++this.#version) };
    return "written";
  }

  async #write<T>(work: () => T): Promise<T> {
    this.writes++;
    return this.#call(work);
  }

  async #call<T>(work: () => T): Promise<T> {
    await this.#yields();
    const result = work();
    await this.#yields();
    return result;
  }
}
