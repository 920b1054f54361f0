/** What is still to happen, in order of time; what is due at the same moment happens in the order it was planned. */

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export class Events {
  readonly #heap: Event[] = [];
  #order = 0;
  now = 0;

  after(delay: number, run: () => void): void {
    this.#heap.push({ at: this.now + delay, order: this.#order, run });
    this.#order += 1;
    this.#up(this.#heap.length - 1);
  }

  /** Runs the next event; false when there is none before `end`. */
  next(end: number): boolean {
    const first = this.#heap[0];
    if (first === undefined || first.at > end) return false;
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) {
      this.#heap[0] = last;
      this.#down(0);
    }
    this.now = first.at;
    first.run();
    return true;
  }

  #up(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfBefore(index, parent)) return;
      index = parent;
    }
  }

  #down(start: number): void {
    let index = start;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const child = this.#before(right, left) ? right : left;
      if (!this.#swapIfBefore(child, index)) return;
      index = child;
    }
  }

  #before(a: number, b: number): boolean {
    const one = this.#heap[a];
    const two = this.#heap[b];
    if (one === undefined || two === undefined) return false;
    return one.at < two.at || (one.at === two.at && one.order < two.order);
  }

  #swapIfBefore(a: number, b: number): boolean {
    if (!this.#before(a, b)) return false;
    const one = this.#heap[a];
    const two = this.#heap[b];
    if (one === undefined || two === undefined) return false;
    this.#heap[a] = two;
    this.#heap[b] = one;
    return true;
  }
}
