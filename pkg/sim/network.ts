/** Who can reach whom: the agents' calls and the cluster bus fail apart or together, one way or both. */
import type { Random } from "./random.ts";

export type Channel = "agents" | "bus";

export interface Cut {
  readonly channels: readonly Channel[];
  /** Whether messages from the first to the second are lost. */
  readonly between: (from: number, to: number) => boolean;
}

const SLOW_LOSS = 30;
const SLOW_DELAY = 40;
const SLOW_DUPLICATE = 5;
const SLOW_MOST_MS = 3000;

export class Network {
  readonly #random: Random;
  readonly #cuts = new Set<Cut>();
  #slow = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  cut(cut: Cut): () => void {
    this.#cuts.add(cut);
    return () => this.#cuts.delete(cut);
  }

  slowDown(): () => void {
    this.#slow += 1;
    return () => {
      this.#slow -= 1;
    };
  }

  get isSlow(): boolean {
    return this.#slow > 0;
  }

  passes(channel: Channel, from: number, to: number): boolean {
    if (from === to) return true;
    for (const cut of this.#cuts) if (cut.channels.includes(channel) && cut.between(from, to)) return false;
    return true;
  }

  /** The bus and replication are TCP: cut one way, they are cut both ways. */
  connects(channel: Channel, a: number, b: number): boolean {
    return this.#cuts.size === 0 || (this.passes(channel, a, b) && this.passes(channel, b, a));
  }

  /** After which delays a message arrives: none when it is lost, two when it arrives twice. */
  delays(): readonly number[] {
    const quick = 1 + this.#random.below(4);
    if (this.#slow === 0) return [quick];
    const luck = this.#random.below(100);
    if (luck < SLOW_LOSS) return [];
    const delay = luck < SLOW_LOSS + SLOW_DELAY ? this.#random.below(SLOW_MOST_MS) : quick;
    return this.#random.below(100) < SLOW_DUPLICATE ? [delay, delay + this.#random.below(SLOW_MOST_MS)] : [delay];
  }
}
