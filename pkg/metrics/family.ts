/** One metric's values, one for each combination of labels. */
export type Labels<L extends string> = Readonly<Record<L, string>>;

export interface Series<V> {
  /** The values in the order of the metric's label names. */
  readonly values: readonly string[];
  value: V;
}

export interface Buckets {
  readonly counts: number[];
  sum: number;
  count: number;
}

export interface FamilyOptions<L extends string> {
  readonly names: readonly L[];
  readonly maxSeries: number;
  /** Called for each use of a combination beyond maxSeries. */
  readonly onDrop: () => void;
}

export class Family<L extends string, V> {
  readonly #options: FamilyOptions<L>;
  readonly #series = new Map<string, Series<V>>();

  constructor(options: FamilyOptions<L>) {
    this.#options = options;
  }

  of(labels: Labels<L>, empty: () => V): Series<V> | undefined {
    const values = this.#options.names.map((name) => labels[name]);
    const key = values.join("\u0000");
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    if (this.#series.size >= this.#options.maxSeries) {
      this.#options.onDrop();
      return undefined;
    }
    const series = { values, value: empty() };
    this.#series.set(key, series);
    return series;
  }

  remove(labels: Labels<L>): void {
    this.#series.delete(this.#options.names.map((name) => labels[name]).join("\u0000"));
  }

  all(): Iterable<Series<V>> {
    return this.#series.values();
  }
}
