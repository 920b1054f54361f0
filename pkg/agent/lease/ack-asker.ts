/** Asks all replicas of the own server to acknowledge at once what they have. */
import type { ValkeyClient } from "../../valkey/client.ts";

/** More replicas than any server has: the server asks those that have not acknowledged yet, and would wait for the rest. */
const ASK = ["WAIT", "1000000", "1"];
const DEADLINE_MS = 1500;

export class AckAsker {
  readonly #client: ValkeyClient;
  #asking = false;

  /** The connection must be nobody else's: until the server has given up waiting, it carries out nothing that comes over it. */
  constructor(client: ValkeyClient) {
    this.#client = client;
  }

  /** What comes of it, the next look shows; a server that refuses or is gone shows nothing. */
  ask(): void {
    if (this.#asking) return;
    this.#asking = true;
    void this.#ask().finally(() => {
      this.#asking = false;
    });
  }

  close(): void {
    this.#client.close();
  }

  async #ask(): Promise<void> {
    try {
      await this.#client.call(ASK, { deadlineMs: DEADLINE_MS });
    } catch {
      // Replicas still acknowledge by themselves, once a second.
    }
  }
}
