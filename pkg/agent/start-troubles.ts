/**
 * Counts servers that end right after they were let in without ever answering. A setting that the server will not take
 * looks like this: after a few such ends it is started with the essential settings alone, and the rest is applied to the
 * running server, which names what it refuses. A new configuration gets a new chance.
 */
export class StartTroubles {
  #failures = 0;
  #distrusted: string | undefined;
  #withEssentials = false;

  /** Says whether settings are left out from now on. */
  ended(answered: boolean, configurationHash: string): boolean {
    if (answered) {
      this.#failures = 0;
      return false;
    }
    this.#failures += 1;
    if (this.#failures < TRIES || this.#distrusted === configurationHash) return false;
    this.#distrusted = configurationHash;
    return true;
  }

  /** Before each start: whether to leave out what is not essential. */
  essentialsOnly(configurationHash: string): boolean {
    this.#withEssentials = this.#distrusted === configurationHash;
    if (!this.#withEssentials && this.#distrusted !== undefined) {
      this.#distrusted = undefined;
      this.#failures = 0;
    }
    return this.#withEssentials;
  }

  answered(): void {
    this.#failures = 0;
  }

  /** For people; undefined when servers start. */
  get trouble(): string | undefined {
    if (this.#failures < TRIES) return undefined;
    const how = this.#withEssentials ? "even with its essential settings alone" : "right after its start";
    return `the server ended ${this.#failures} times in a row ${how}, without answering once: its own log says why (kubectl logs, container valkey)`;
  }
}

const TRIES = 2;
