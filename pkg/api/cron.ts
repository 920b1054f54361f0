/** A window written as five cron fields, in UTC: minute, hour, day of the month, month, day of the week. */
import { shaped } from "./schema.ts";

const RANGES = [
  "[0-5]?[0-9]",
  "([01]?[0-9]|2[0-3])",
  "(0?[1-9]|[12][0-9]|3[01])",
  "(0?[1-9]|1[0-2])",
  "[0-7]",
] as const;

const FIELDS = RANGES.map((number) => {
  const item = `(\\*|${number}(-${number})?)(/[1-9][0-9]?)?`;
  return `${item}(,${item})*`;
}).join(" +");

export const CRON_MESSAGE =
  "must be five cron fields in UTC (minute 0-59, hour 0-23, day 1-31, month 1-12, weekday 0-7), for example " +
  "'0 4 * * 6,0' for Saturdays and Sundays at 4:00; or empty for any time";

export function cronWindow(about: string) {
  return shaped(about, 128, new RegExp(`^(${FIELDS})?$`), CRON_MESSAGE);
}
