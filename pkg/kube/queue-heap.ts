/** A binary heap: the entry with the lowest rank comes out first, equal ranks in the order they went in. */
export class Heap<T> {
  readonly #entries: { rank: number; order: number; value: T }[] = [];
  #order = 0;

  get size(): number {
    return this.#entries.length;
  }

  push(rank: number, value: T): void {
    this.#order += 1;
    this.#entries.push({ rank, order: this.#order, value });
    this.#up(this.#entries.length - 1);
  }

  peek(): { readonly rank: number; readonly value: T } | undefined {
    return this.#entries[0];
  }

  pop(): T | undefined {
    const first = this.#entries[0];
    const last = this.#entries.pop();
    if (first === undefined || last === undefined) return undefined;
    if (this.#entries.length > 0) {
      this.#entries[0] = last;
      this.#down(0);
    }
    return first.value;
  }

  clear(): void {
    this.#entries.length = 0;
  }

  #up(start: number): void {
    let child = start;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#before(child, parent)) return;
      this.#swap(child, parent);
      child = parent;
    }
  }

  #down(start: number): void {
    let parent = start;
    for (;;) {
      const left = 2 * parent + 1;
      const child = this.#before(left + 1, left) ? left + 1 : left;
      if (!this.#before(child, parent)) return;
      this.#swap(child, parent);
      parent = child;
    }
  }

  #before(a: number, b: number): boolean {
    const [x, y] = [this.#entries[a], this.#entries[b]];
    if (x === undefined) return false;
    return y === undefined || x.rank < y.rank || (x.rank === y.rank && x.order < y.order);
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#entries[a], this.#entries[b]];
    if (x === undefined || y === undefined) return;
    this.#entries[a] = y;
    this.#entries[b] = x;
  }
}
