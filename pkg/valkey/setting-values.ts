/**
 * Values of settings: whether what is wanted and what a server shows mean the same. A server writes values down in its
 * own way ("100mb" as "104857600", "KEA" as "AKE"), and an equal value must never look like a difference.
 *
 * Servers take no units of time: every duration is a plain number in the setting's own unit.
 */
import { canonicalName, isTextSetting } from "./setting-names.ts";

const UNITS: Readonly<Record<string, bigint>> = {
  "": 1n,
  b: 1n,
  k: 1000n,
  kb: 1024n,
  m: 1_000_000n,
  mb: 1024n ** 2n,
  g: 1_000_000_000n,
  gb: 1024n ** 3n,
};

/** Whether the live value is what the wanted one means. */
export function sameSetting(name: string, wanted: string, live: string): boolean {
  const argument = settingArgument(name, wanted);
  if (argument === live) return true;
  if (isTextSetting(name)) return false;
  switch (canonicalName(name)) {
    case "client-output-buffer-limit":
      return sameLimits(argument, live);
    case "notify-keyspace-events":
      return eventsOf(argument) === eventsOf(live);
    case "shutdown-on-sigint":
    case "shutdown-on-sigterm":
      return words(argument).toSorted().join(" ") === words(live).toSorted().join(" ");
    case "unixsocketperm":
      return Number.parseInt(argument, 8) === Number.parseInt(live, 8);
    default:
      return words(argument).join(" ") === words(live).join(" ");
  }
}

/** The value as CONFIG SET takes it: `""`, as a file has it, is the empty text, and one blank stands between words. */
export function settingArgument(name: string, value: string): string {
  if (value === '""' || value === "''") return "";
  if (isTextSetting(name)) return value;
  const text = value.trim().split(/\s+/u).join(" ");
  return name === "client-output-buffer-limit" ? completeLimits(text) : text;
}

/** Words as what they mean: sizes as bytes, numbers without needless digits, everything else without its case. */
function words(text: string): readonly string[] {
  return (
    text
      .toLowerCase()
      .split(/\s+/u)
      .filter((word) => word !== "")
      // No percent of anything is nothing, and shown as that.
      .map((word) => bytesOf(word) ?? numberOf(word) ?? (word === "0%" ? "0" : word))
  );
}

function bytesOf(word: string): string | undefined {
  const { digits, unit } = /^(?<digits>\d{1,20})(?<unit>[a-z]{0,2})$/u.exec(word)?.groups ?? {};
  const factor = unit === undefined ? undefined : UNITS[unit];
  return digits === undefined || factor === undefined ? undefined : String(BigInt(digits) * factor);
}

function numberOf(word: string): string | undefined {
  return /^-?\d{1,15}(?:\.\d{1,15})?$/u.test(word) ? String(Number(word)) : undefined;
}

/**
 * The server leaves the classes that are not named as they are, so that what runs would depend on what was said before.
 * They get their defaults.
 */
function completeLimits(value: string): string {
  const named = new Set(limitsOf(value).keys());
  const others = LIMIT_DEFAULTS.filter(([kind]) => !named.has(kind)).map((words) => words.join(" "));
  return [value, ...others].join(" ").trim();
}

const LIMIT_DEFAULTS = [
  ["normal", "0 0 0"],
  ["slave", "268435456 67108864 60"],
  ["pubsub", "33554432 8388608 60"],
] as const;

function sameLimits(wanted: string, live: string): boolean {
  const has = limitsOf(live);
  return [...limitsOf(wanted)].every(([kind, limits]) => has.get(kind) === limits);
}

/** By class; `slave` is the server's word for replica. */
function limitsOf(text: string): ReadonlyMap<string, string> {
  const all = words(text);
  const limits = new Map<string, string>();
  for (let at = 0; at < all.length; at += 4) {
    const [kind = "", ...numbers] = all.slice(at, at + 4);
    limits.set(kind === "replica" ? "slave" : kind, numbers.join(" "));
  }
  return limits;
}

/** `A` stands for all events of keys; `n` (new keys) is not shown by the server and `m` (missed) is not among `A`. */
function eventsOf(text: string): string {
  const all = text.replaceAll("A", "g$lshzxetd");
  return [...new Set(all.split(""))]
    .filter((flag) => flag !== "n")
    .toSorted()
    .join("");
}
