/**
 * The window in which restarts are made: every minute that the five cron fields name opens it for an hour. With the
 * minute alone `0 4 * * *` would be a window of one minute, too short for a single handover; with an end of its own the
 * field would need a second one.
 */
const MINUTE_MS = 60_000;
const OPEN_MINUTES = 60;
/** As far as the next opening is looked for; a window that is rarer is looked at again after this long. */
const HORIZON_MINUTES = 8 * 24 * 60;

type Matches = (value: number) => boolean;

interface Cron {
  readonly minute: Matches;
  readonly hour: Matches;
  readonly month: Matches;
  readonly day: (at: Date) => boolean;
}

/** What pkg/api/cron.ts has let through. */
function parse(window: string): Cron {
  const [minute = "*", hour = "*", day = "*", month = "*", weekday = "*"] = window.trim().split(/\s+/);
  return { minute: parseField(minute), hour: parseField(hour), month: parseField(month), day: parseDay(day, weekday) };
}

/** When both the day of the month and the weekday are given, either is enough, as cron has it. */
function parseDay(day: string, weekday: string): Cron["day"] {
  const [ofMonth, ofWeek] = [parseField(day), parseField(weekday)];
  const byDay = (at: Date) => ofMonth(at.getUTCDate());
  const byWeekday = (at: Date) => ofWeek(at.getUTCDay()) || (at.getUTCDay() === 0 && ofWeek(7));
  if (day.startsWith("*") || weekday.startsWith("*")) return (at) => byDay(at) && byWeekday(at);
  return (at) => byDay(at) || byWeekday(at);
}

function parseField(field: string): Matches {
  const items = field.split(",").map(parseItem);
  return (value) => items.some((matches) => matches(value));
}

function parseItem(item: string): Matches {
  const [range = "*", step = "1"] = item.split("/");
  const [low, high] = range === "*" ? [0, Infinity] : boundsOf(range, item.includes("/"));
  return (value) => value >= low && value <= high && (value - low) % Number(step) === 0;
}

/** `5/10` is 5, 15, 25 and so on, as cron has it. */
function boundsOf(range: string, stepped: boolean): readonly [number, number] {
  const [first = 0, last] = range.split("-").map(Number);
  return [first, last ?? (stepped ? Infinity : first)];
}

function names({ minute, hour, month, day }: Cron, at: Date): boolean {
  return minute(at.getUTCMinutes()) && hour(at.getUTCHours()) && month(at.getUTCMonth() + 1) && day(at);
}

export interface WindowNow {
  readonly open: boolean;
  /** When it opens next; undefined when it is open, or does not open within the next days. */
  readonly opensAt: Date | undefined;
}

export function windowNow(window: string, now: Date): WindowNow {
  if (window.trim() === "") return { open: true, opensAt: undefined };
  const cron = parse(window);
  const minute = Math.floor(now.getTime() / MINUTE_MS);
  const named = (at: number) => names(cron, new Date(at * MINUTE_MS));
  for (let back = 0; back < OPEN_MINUTES; back += 1) {
    if (named(minute - back)) return { open: true, opensAt: undefined };
  }
  for (let ahead = 1; ahead <= HORIZON_MINUTES; ahead += 1) {
    if (named(minute + ahead)) return { open: false, opensAt: new Date((minute + ahead) * MINUTE_MS) };
  }
  return { open: false, opensAt: undefined };
}
