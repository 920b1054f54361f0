/**
 * Prometheus metrics: counters, gauges and histograms with labels, and their text form. Small on purpose: what an
 * operator and an agent need and nothing to install.
 *
 * Names and labels are checked when a metric is made, so that a wrong one fails at the start and not at the first
 * scrape. Each metric keeps at most `maxSeries` label combinations; what comes beyond is counted in
 * `metrics_series_dropped_total` instead of eating memory.
 */
import { type Buckets, Family, type Labels } from "./family.ts";
import { checkNames, escapeHelp, histogramLines, valueLines } from "./text.ts";

export interface MetricOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  /** Defaults to none. */
  readonly labels?: readonly L[];
}

export interface HistogramOptions<L extends string> extends MetricOptions<L> {
  /** Upper bounds, rising. Defaults to 1 ms to 60 s. */
  readonly buckets?: readonly number[];
}

export interface RegistryOptions {
  /** Label combinations kept per metric. Defaults to 2000. */
  readonly maxSeries?: number;
}

export interface Counter<L extends string = never> {
  inc(labels: Labels<L>, by?: number): void;
}

export interface Gauge<L extends string = never> {
  set(labels: Labels<L>, value: number): void;
  add(labels: Labels<L>, by: number): void;
  remove(labels: Labels<L>): void;
  /** Called at every scrape, before the values are read; the function returned ends that. */
  onScrape(refresh: () => void): () => void;
}

export interface Histogram<L extends string = never> {
  observe(labels: Labels<L>, value: number): void;
}

export const DEFAULT_BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const;

interface Metric {
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly lines: () => Iterable<string>;
}

export class Registry {
  readonly #metrics = new Map<string, Metric>();
  readonly #refreshers = new Set<() => void>();
  readonly #maxSeries: number;
  #dropped = 0;

  constructor(options: RegistryOptions = {}) {
    this.#maxSeries = options.maxSeries ?? 2000;
  }

  counter<L extends string = never>(options: MetricOptions<L>): Counter<L> {
    const family = this.#family<L, number>(options);
    this.#register(options, "counter", () => valueLines(options, family.all()));
    return {
      inc: (labels, by = 1) => {
        if (!(by >= 0)) throw new RangeError(`${options.name}: a counter grows, it was given ${by}`);
        const series = family.of(labels, () => 0);
        if (series !== undefined) series.value += by;
      },
    };
  }

  gauge<L extends string = never>(options: MetricOptions<L>): Gauge<L> {
    const family = this.#family<L, number>(options);
    this.#register(options, "gauge", () => valueLines(options, family.all()));
    return {
      set: (labels, value) => {
        const series = family.of(labels, () => 0);
        if (series !== undefined) series.value = value;
      },
      add: (labels, by) => {
        const series = family.of(labels, () => 0);
        if (series !== undefined) series.value += by;
      },
      remove: (labels) => family.remove(labels),
      onScrape: (refresh) => {
        this.#refreshers.add(refresh);
        return () => void this.#refreshers.delete(refresh);
      },
    };
  }

  histogram<L extends string = never>(options: HistogramOptions<L>): Histogram<L> {
    const bounds = options.buckets ?? DEFAULT_BUCKETS;
    const family = this.#family<L, Buckets>(options);
    this.#register(options, "histogram", () => histogramLines(options, bounds, family.all()));
    const empty = (): Buckets => ({ counts: bounds.map(() => 0), sum: 0, count: 0 });
    return {
      observe: (labels, value) => {
        const series = family.of(labels, empty);
        if (series === undefined) return;
        const { counts } = series.value;
        const bucket = bounds.findIndex((bound) => value <= bound);
        if (bucket >= 0) counts[bucket] = (counts[bucket] ?? 0) + 1;
        series.value.sum += value;
        series.value.count += 1;
      },
    };
  }

  /** The text exposition format, version 0.0.4. */
  text(): string {
    for (const refresh of this.#refreshers) refresh();
    const out: string[] = [];
    for (const [name, metric] of [...this.#metrics].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      out.push(`# HELP ${name} ${escapeHelp(metric.help)}`, `# TYPE ${name} ${metric.type}`, ...metric.lines());
    }
    if (this.#dropped > 0)
      out.push("# TYPE metrics_series_dropped_total counter", `metrics_series_dropped_total ${this.#dropped}`);
    return `${out.join("\n")}\n`;
  }

  #register(options: MetricOptions<string>, type: Metric["type"], lines: Metric["lines"]): void {
    checkNames(options);
    if (this.#metrics.has(options.name)) throw new TypeError(`metric ${options.name} is made twice`);
    this.#metrics.set(options.name, { help: options.help, type, lines });
  }

  #family<L extends string, V>(options: MetricOptions<L>): Family<L, V> {
    return new Family({
      names: options.labels ?? [],
      maxSeries: this.#maxSeries,
      onDrop: () => {
        this.#dropped += 1;
      },
    });
  }
}
