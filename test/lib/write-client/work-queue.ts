/** Work in the order in which it fell due, taken by several workers. */
export class WorkQueue<T> {
  readonly #items: T[] = [];
  readonly #takers: ((item: T | undefined) => void)[] = [];
  #closed = false;

  get length(): number {
    return this.#items.length;
  }

  push(item: T): void {
    const taker = this.#takers.shift();
    if (taker === undefined) this.#items.push(item);
    else taker(item);
  }

  /** The next item; undefined when the queue is closed and empty. */
  take(): Promise<T | undefined> {
    const item = this.#items.shift();
    if (item !== undefined || this.#closed) return Promise.resolve(item);
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    this.#takers.push(resolve);
    return promise;
  }

  /** Nothing more comes; what is there may still be taken. */
  close(): void {
    this.#closed = true;
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }
}
