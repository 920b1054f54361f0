/** How long a call may take: the API server tells its patience in `?timeout=10s`; we answer a little before. */

const STANDARD_MS = 10_000;
/** The API server allows no more. */
const LONGEST_MS = 30_000;
const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** What is left for the handler, in milliseconds: nine tenths, so that our answer arrives and not the caller's timeout. */
export function callBudget(timeout: string | null): number {
  const patience = Math.min(parseGoDuration(timeout ?? "") ?? STANDARD_MS, LONGEST_MS);
  return Math.max(1, Math.floor(patience * 0.9));
}

/** Go's text form, `1m30s` or `1.5s`; undefined for anything else, or no time at all. */
export function parseGoDuration(text: string): number | undefined {
  if (!/^(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h)){1,6}$/.test(text)) return undefined;
  const parts = text.matchAll(/([0-9.]+)(ns|us|µs|ms|s|m|h)/g);
  const ms = [...parts].reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNITS[unit ?? ""] ?? 0), 0);
  return ms > 0 ? ms : undefined;
}
