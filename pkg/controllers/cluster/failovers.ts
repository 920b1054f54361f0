/** What came of the failovers that this operator has asked agents for. Lost with it: the next one sees who leads. */
import type { FailoverOutcome } from "../../plan/failover/view.ts";

export class Failovers {
  readonly #outcomes = new Map<string, FailoverOutcome>();

  note(key: string, outcome: FailoverOutcome): void {
    this.#outcomes.set(key, outcome);
  }

  of(key: string): FailoverOutcome | undefined {
    return this.#outcomes.get(key);
  }

  forget(key: string): void {
    this.#outcomes.delete(key);
  }
}
