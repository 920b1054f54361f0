/** Another client that keeps changing config maps: creates, edits, deletes, and deletes and makes anew. */
import type { KubeClient } from "../../pkg/kube/client.ts";
import { isKubeError } from "../../pkg/kube/kube-error.ts";
import { CONFIG_MAPS } from "../../pkg/kube/resource.ts";

export interface WriterOptions {
  readonly namespace: string;
  readonly names: number;
  readonly workers: number;
}

export class Writer {
  readonly #client: KubeClient;
  readonly #options: WriterOptions;
  changes = 0;

  constructor(client: KubeClient, options: WriterOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Ends when the last write that was begun before the signal is done. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.workers }, () => this.#work(signal)));
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#change();
        this.changes += 1;
      } catch (error) {
        await this.#bear(error);
      }
    }
  }

  async #change(): Promise<void> {
    const ref = this.#someone();
    const dice = Math.random();
    if (dice < 0.6) await this.#edit(ref);
    else if (dice < 0.8) await this.#client.delete(CONFIG_MAPS, ref);
    else await this.#recreate(ref);
  }

  async #edit(ref: { namespace: string; name: string }): Promise<void> {
    const body = { metadata: ref, data: { value: crypto.randomUUID() } };
    await this.#client.apply(CONFIG_MAPS, body, { fieldManager: "writer", force: true });
  }

  async #recreate(ref: { namespace: string; name: string }): Promise<void> {
    await this.#client.delete(CONFIG_MAPS, ref);
    await this.#client.create(CONFIG_MAPS, { metadata: ref, data: { value: "new" } });
  }

  #someone(): { namespace: string; name: string } {
    return { namespace: this.#options.namespace, name: `config-${Math.floor(Math.random() * this.#options.names)}` };
  }

  /** Others write the same objects, and the server may be restarting. */
  async #bear(error: unknown): Promise<void> {
    if (isKubeError(error, "already-exists", "conflict", "not-found")) return;
    if (!isKubeError(error, "unreachable", "server-error", "deadline", "too-many-requests", "forbidden")) throw error;
    await Bun.sleep(100);
  }
}
