/** Wakes keys after a time: for what changes by itself. The earliest alarm of a key counts. */
import type { Clock } from "../../clock/clock.ts";
import type { Source } from "../../kube/controller.ts";

interface Alarm {
  readonly due: number;
  readonly cancel: () => void;
}

export class Alarms implements Source {
  readonly #clock: Clock;
  readonly #alarms = new Map<string, Alarm>();
  readonly #listeners = new Set<(key: string) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  subscribe(wake: (key: string, priority: "normal") => void): () => void {
    const listener = (key: string) => wake(key, "normal");
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Undefined times are none. */
  set(key: string, ...waits: readonly (number | undefined)[]): void {
    const given = waits.filter((wait) => wait !== undefined);
    if (given.length === 0) return;
    const wait = Math.max(1, Math.min(...given));
    const due = this.#clock.monotonic() + wait;
    const known = this.#alarms.get(key);
    if (known !== undefined && known.due <= due) return;
    known?.cancel();
    this.#alarms.set(key, { due, cancel: this.#clock.after(wait, () => this.#ring(key)) });
  }

  forget(key: string): void {
    this.#alarms.get(key)?.cancel();
    this.#alarms.delete(key);
  }

  #ring(key: string): void {
    this.#alarms.delete(key);
    for (const listener of this.#listeners) listener(key);
  }
}
