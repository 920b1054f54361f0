/** Durations as the kinds write them: a number and a unit, `90d`. */
import { shaped } from "./schema.ts";

const UNITS = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  mo: 30 * 86_400_000,
  y: 365 * 86_400_000,
} as const;

/** How long a certificate lives: from minutes to 99 years. */
export function validity(about: string) {
  return shaped(
    about,
    8,
    /^([1-9][0-9]{0,5}m|[1-9][0-9]{0,4}h|[1-9][0-9]{0,3}d|[1-9][0-9]{0,2}mo|[1-9][0-9]?y)$/,
    "must be a number and a unit, m (minutes), h, d, mo (30 days) or y (365 days), at most 99y: for example 90d",
  );
}

/** A short time: seconds or minutes. */
export function shortTime(about: string) {
  return shaped(
    about,
    5,
    /^[1-9][0-9]{0,3}(s|m)$/,
    "must be a number and a unit, s (seconds) or m (minutes): for example 5s",
  );
}

/** Milliseconds of a duration that the schemas above have accepted. */
export function milliseconds(duration: string): number {
  const match = /^([0-9]+)(mo|s|m|h|d|y)$/.exec(duration);
  const [, amount, unit] = match ?? [];
  if (amount === undefined || !isUnit(unit)) {
    throw new RangeError(
      `${JSON.stringify(duration)} is no duration: a number and one of ${Object.keys(UNITS).join(", ")}`,
    );
  }
  return Number(amount) * UNITS[unit];
}

function isUnit(unit: string | undefined): unit is keyof typeof UNITS {
  return unit !== undefined && Object.hasOwn(UNITS, unit);
}
