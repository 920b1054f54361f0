/** What a benchmark is, and the arithmetic they share. One file per benchmark; main.ts lists and runs them. */

export interface Bench {
  readonly name: string;
  /** One line for the list: what is measured, against what. */
  readonly summary: string;
  /** Runs inside a lab of its own, which main.ts brings up and takes down. Defaults to false. */
  readonly onLab?: boolean;
  readonly run: (progress: Progress) => Promise<Measured>;
}

/** Shows what goes on; a benchmark's result goes nowhere but into what it returns. */
export type Progress = (line: string) => void;

export interface Measured {
  readonly value: number;
  readonly unit: string;
  /** The bare thing that the value is compared with, in the same unit, measured in the same run. */
  readonly limit?: number;
  /** Acknowledged writes that were not there at the end. */
  readonly lost?: number;
  readonly errors?: number;
  /** The parts that the value was made of. */
  readonly runs?: readonly (number | Readonly<Record<string, number | string>>)[];
}

/** The one line of JSON that ends a benchmark's output. What does not apply is left out. */
export function resultLine(bench: string, { value, unit, limit, lost, errors, runs }: Measured): string {
  const ratio = limit === undefined ? undefined : rounded(value / limit, 4);
  return JSON.stringify({ bench, value, unit, limit, ratio, lost, errors, runs });
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  if (low === undefined || high === undefined) throw new RangeError("nothing was measured: no median");
  return (low + high) / 2;
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
