/**
 * Whether a stored object still says what we want of it. What the server or others added beside our fields does not
 * matter; a field of ours that differs, is missing, or a list of ours that grew does.
 *
 * Lists follow the merge keys of Kubernetes' own kinds: containers by name, ports by number and protocol and so on may
 * hold entries of others; every other list is ours as a whole.
 */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [field: string]: Json;
}

/** The path of the first field of `wanted` that `found` does not show; undefined when it shows all of them. */
export function difference(wanted: Json, found: Json | undefined, path = ""): string | undefined {
  if (isList(wanted)) return listDifference(wanted, found, path);
  if (isObject(wanted)) return objectDifference(wanted, found, path);
  return wanted === found ? undefined : path;
}

function objectDifference(wanted: JsonObject, found: Json | undefined, path: string): string | undefined {
  if (!isObject(found)) return path;
  if (WHOLE_MAPS.has(fieldOf(path)) && Object.keys(found).length > Object.keys(wanted).length) return path;
  for (const [field, value] of Object.entries(wanted)) {
    const below = difference(value, found[field], path === "" ? field : `${path}.${field}`);
    if (below !== undefined) return below;
  }
  return undefined;
}

/** Maps that the API keeps as one value: a label that a stranger adds to a selector changes what it selects. */
const WHOLE_MAPS: ReadonlySet<string> = new Set([
  "selector",
  "matchLabels",
  "labelSelector",
  "nodeSelector",
  "podSelector",
  "namespaceSelector",
  "objectSelector",
]);

function fieldOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

function listDifference(wanted: readonly Json[], found: Json | undefined, path: string): string | undefined {
  if (!isList(found)) return path;
  const keyed = pairByKey(path, wanted, found);
  if (keyed === undefined && wanted.length !== found.length) return path;
  const pairs = keyed ?? wanted.map((item, index) => ({ item, match: found[index], name: String(index) }));
  for (const { item, match, name } of pairs) {
    const below = difference(item, match, `${path}[${name}]`);
    if (below !== undefined) return below;
  }
  return undefined;
}

/**
 * What `found` says at the fields of `wanted`: how the server writes down what we asked for, such as "1Gi" for
 * "1024Mi". Fields that it dropped are left out.
 */
export function rendition(wanted: Json, found: Json, path = ""): Json {
  if (isList(wanted) && isList(found)) return listRendition(wanted, found, path);
  if (!isObject(wanted) || !isObject(found)) return found;
  const out: Record<string, Json> = {};
  for (const [field, value] of Object.entries(wanted)) {
    const there = found[field];
    if (there !== undefined) out[field] = rendition(value, there, path === "" ? field : `${path}.${field}`);
  }
  return out;
}

function listRendition(wanted: readonly Json[], found: readonly Json[], path: string): Json {
  const keyed = pairByKey(path, wanted, found);
  if (keyed === undefined) {
    return found.map((item, index) => {
      const want = wanted[index];
      return want === undefined ? item : rendition(want, item, `${path}[${index}]`);
    });
  }
  return keyed.flatMap(({ item, match, name }) =>
    match === undefined ? [] : [rendition(item, match, `${path}[${name}]`)],
  );
}

interface Pair {
  readonly item: Json;
  readonly match: Json | undefined;
  readonly name: string;
}

/** Each wanted item with the found one of the same key; undefined when the list has no keys, or one twice. */
function pairByKey(path: string, wanted: readonly Json[], found: readonly Json[]): Pair[] | undefined {
  const rule = MERGE_RULES.find(({ at }) => at.test(path));
  if (rule === undefined) return undefined;
  const pairs = new Map<string, Pair>();
  for (const item of wanted) {
    const name = keyOfItem(rule, item);
    if (name === undefined || pairs.has(name)) return undefined;
    pairs.set(name, { item, match: found.find((other) => keyOfItem(rule, other) === name), name });
  }
  return pairs.size === 0 ? undefined : [...pairs.values()];
}

interface MergeRule {
  readonly at: RegExp;
  /** The fields that make the key; none for a set of strings. */
  readonly by: readonly string[];
}

const POD = "^spec\\.template\\.spec\\.";
const CONTAINER = `${POD}(?:containers|initContainers|ephemeralContainers)\\[[^\\]]*\\]\\.`;

/**
 * Lists that the API merges by key, by their place and not by their name alone: an entry that a stranger adds to the
 * ports of a NetworkPolicy opens a door, one in the ports of a Service is another's business.
 */
const MERGE_RULES: readonly MergeRule[] = [
  { at: /^metadata\.finalizers$/u, by: [] },
  { at: /^metadata\.ownerReferences$/u, by: ["uid"] },
  { at: /^status\.conditions$/u, by: ["type"] },
  { at: /^spec\.ports$/u, by: ["port", "protocol"] },
  { at: /^webhooks$/u, by: ["name"] },
  { at: /^(?:imagePullSecrets|secrets)$/u, by: ["name"] },
  { at: pattern(POD, "(?:containers|initContainers|ephemeralContainers|volumes|imagePullSecrets)"), by: ["name"] },
  { at: pattern(POD, "topologySpreadConstraints"), by: ["topologyKey", "whenUnsatisfiable"] },
  { at: pattern(POD, "hostAliases"), by: ["ip"] },
  { at: pattern(CONTAINER, "env"), by: ["name"] },
  { at: pattern(CONTAINER, "ports"), by: ["containerPort", "protocol"] },
  { at: pattern(CONTAINER, "volumeMounts"), by: ["mountPath"] },
  { at: pattern(CONTAINER, "volumeDevices"), by: ["devicePath"] },
];
/** What the server fills in where a part of a key is left out. */
const KEY_DEFAULTS: Readonly<Record<string, string>> = { protocol: "TCP" };

function pattern(place: string, field: string): RegExp {
  return new RegExp(`${place}${field}$`, "u");
}

function keyOfItem({ by }: MergeRule, item: Json): string | undefined {
  if (typeof item === "string") return by.length === 0 ? item : undefined;
  if (!isObject(item) || by.length === 0) return undefined;
  const parts = by.map((name) => item[name] ?? KEY_DEFAULTS[name]);
  return parts.every((part) => part !== undefined) ? parts.map(String).join("/") : undefined;
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !isList(value);
}

/** As JSON would carry it, without undefined and null: server-side apply takes a null for an absent field. */
export function toJson(value: unknown): Json {
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).filter(([, below]) => below !== undefined && below !== null);
    return Object.fromEntries(entries.map(([field, below]) => [field, toJson(below)]));
  }
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "number") return value;
  if (value === null || value === undefined) return null;
  throw new TypeError(`a ${typeof value} cannot be part of a Kubernetes object`);
}

/** The same for the same content, whatever the order of its fields. */
export function contentHash(value: Json): string {
  return new Bun.CryptoHasher("sha256").update(canonical(value)).digest("base64url").slice(0, 22);
}

function canonical(value: Json): string {
  if (isList(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([field, below]) => `${JSON.stringify(field)}:${canonical(below)}`).join(",")}}`;
}
