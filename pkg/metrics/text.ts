/** The text exposition format of Prometheus, version 0.0.4. */
import type { Buckets, Series } from "./family.ts";

export interface NamedMetric {
  readonly name: string;
  readonly labels?: readonly string[];
}

const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/u;
const LABEL_NAME = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/u;

export function checkNames({ name, labels = [] }: NamedMetric): void {
  if (!METRIC_NAME.test(name)) throw new TypeError(`${JSON.stringify(name)} cannot be the name of a metric`);
  const wrong = labels.find((label) => !LABEL_NAME.test(label) || label === "le");
  if (wrong !== undefined) throw new TypeError(`metric ${name}: ${JSON.stringify(wrong)} cannot be a label`);
}

export function* valueLines(metric: NamedMetric, all: Iterable<Series<number>>): Iterable<string> {
  for (const series of all) yield `${metric.name}${labelText(metric, series.values)} ${formatNumber(series.value)}`;
}

export function* histogramLines(
  metric: NamedMetric,
  bounds: readonly number[],
  all: Iterable<Series<Buckets>>,
): Iterable<string> {
  for (const { values, value } of all) {
    let below = 0;
    for (const [index, bound] of bounds.entries()) {
      below += value.counts[index] ?? 0;
      yield `${metric.name}_bucket${labelText(metric, values, formatNumber(bound))} ${below}`;
    }
    yield `${metric.name}_bucket${labelText(metric, values, "+Inf")} ${value.count}`;
    yield `${metric.name}_sum${labelText(metric, values)} ${formatNumber(value.sum)}`;
    yield `${metric.name}_count${labelText(metric, values)} ${value.count}`;
  }
}

export function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function labelText({ labels = [] }: NamedMetric, values: readonly string[], le?: string): string {
  const pairs = labels.map((name, index) => `${name}="${escapeLabel(values[index] ?? "")}"`);
  if (le !== undefined) pairs.push(`le="${le}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function formatNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Infinity) return "+Inf";
  return value === -Infinity ? "-Inf" : String(value);
}
