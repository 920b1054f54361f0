/**
 * Whether objects stored under an older schema are still whole and valid under a newer one. The API grows by addition
 * only: a test compares the schemas of every release with those of today and fails on what this file finds.
 */
import type { OpenApi } from "./openapi.ts";

type Check = (before: OpenApi, after: OpenApi) => readonly string[];

/** Every change that could break a stored object, each with the path of its field. */
export function breakingChanges(before: OpenApi, after: OpenApi, path = ""): string[] {
  const here = CHECKS.flatMap((check) => check(before, after)).map((what) => `${path === "" ? "." : path}: ${what}`);
  return [...here, ...childChanges(before, after, path)];
}

function childChanges(before: OpenApi, after: OpenApi, path: string): string[] {
  const fields = Object.entries(before.properties ?? {}).flatMap(([name, field]) => {
    const now = after.properties?.[name];
    return now === undefined ? [] : breakingChanges(field, now, `${path}.${name}`);
  });
  return [
    ...fields,
    ...innerChanges(before.items, after.items, `${path}[]`),
    ...innerChanges(before.additionalProperties, after.additionalProperties, `${path}[key]`),
  ];
}

function innerChanges(before: OpenApi | undefined, after: OpenApi | undefined, path: string): string[] {
  return before === undefined || after === undefined ? [] : breakingChanges(before, after, path);
}

const removedFields: Check = (before, after) =>
  Object.keys(before.properties ?? {})
    .filter((name) => after.properties?.[name] === undefined)
    .map((name) => `field ${name} was removed: its stored values would be dropped`);

const newlyRequired: Check = (before, after) =>
  (after.required ?? [])
    .filter((name) => !(before.required ?? []).includes(name) && after.properties?.[name]?.default === undefined)
    .map((name) => `field ${name} became required without a default: stored objects lack it`);

/** Facts that must stay what they are. */
const FIXED = [
  "type",
  "format",
  "default",
  "x-kubernetes-int-or-string",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
] as const;

const changedFacts: Check = (before, after) =>
  FIXED.filter((fact) => JSON.stringify(before[fact]) !== JSON.stringify(after[fact])).map(
    (fact) => `${fact} changed from ${JSON.stringify(before[fact])} to ${JSON.stringify(after[fact])}`,
  );

const lostNull: Check = (before, after) =>
  before.nullable === true && after.nullable !== true ? ["null is no longer allowed"] : [];

const narrowedEnum: Check = (before, after) => {
  if (after.enum === undefined) return [];
  if (before.enum === undefined) return ["was limited to a set of values"];
  const lost = before.enum.filter((value) => !after.enum?.includes(value));
  return lost.map((value) => `value ${JSON.stringify(value)} is no longer allowed`);
};

const LOWER = ["minimum", "minLength", "minItems", "minProperties"] as const;
const UPPER = ["maximum", "maxLength", "maxItems", "maxProperties"] as const;

const narrowedBounds: Check = (before, after) => [
  ...LOWER.filter((bound) => (after[bound] ?? -Infinity) > (before[bound] ?? -Infinity)).map(
    (bound) => `${bound} rose from ${before[bound] ?? "none"} to ${after[bound]}`,
  ),
  ...UPPER.filter((bound) => (after[bound] ?? Infinity) < (before[bound] ?? Infinity)).map(
    (bound) => `${bound} fell from ${before[bound] ?? "none"} to ${after[bound]}`,
  ),
];

/** A new rule may refuse what is stored, unless it looks at the stored value and lets that pass. */
const newRules: Check = (before, after) => {
  const known = new Set((before["x-kubernetes-validations"] ?? []).map(({ rule }) => rule));
  return (after["x-kubernetes-validations"] ?? [])
    .filter(({ rule }) => !known.has(rule) && !rule.includes("oldSelf"))
    .map(({ rule }) => `new rule without regard to stored values (oldSelf): ${rule}`);
};

const newPattern: Check = (before, after) =>
  after.pattern !== undefined && after.pattern !== before.pattern ? [`pattern became ${after.pattern}`] : [];

const CHECKS: readonly Check[] = [
  removedFields,
  newlyRequired,
  changedFacts,
  lostNull,
  narrowedEnum,
  narrowedBounds,
  newRules,
  newPattern,
];
