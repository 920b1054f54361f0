/**
 * Reads `acl-definitions.yaml` of a ValkeyClusterAcl's Secret. What is wrong is said by user and field; no value of it is
 * ever repeated, not even a wrong one: it may be a password in the wrong place.
 */
import * as v from "valibot";

/** Users that the operator and its agents make themselves. */
export const AGENT_USER = "valkey-agent";

const SPACE_OR_CONTROL = /[\s\p{Cc}]/u;

const name = v.pipe(
  v.string("must be a text in quotes"),
  v.minLength(1, "must not be empty"),
  v.maxLength(128, "must have at most 128 characters"),
  v.check((text) => !SPACE_OR_CONTROL.test(text), "must not hold spaces or control characters"),
  v.check((text) => text !== AGENT_USER, "is a name that the operator uses itself: choose another"),
);

const password = v.pipe(
  v.string("must be a text in quotes"),
  v.minLength(1, "must not be empty"),
  v.maxLength(1024, "must have at most 1024 characters"),
  v.check((text) => !/\p{Cc}/u.test(text), "must not hold control characters"),
);

const passwords = v.pipe(
  v.array(password, 'must be a list of texts: ["..."]'),
  v.minLength(1, "must hold a password"),
  v.maxLength(16, "must hold at most 16 passwords"),
);

/** What must not stand among the rules: each line is one user, and passwords have a field of their own. */
const rules = v.pipe(
  v.string("must be a text in quotes"),
  v.maxLength(16_384, "must have at most 16384 characters"),
  v.check((text) => !/[^\P{Cc} ]/u.test(text), "must be one line"),
  v.check((text) => !words(text).some(isPassword), "must not hold passwords: they go into pass"),
  v.check((text) => !words(text).some(isReset), "must not hold reset or resetpass: a user begins without any right"),
);

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}

function isPassword(word: string): boolean {
  return /^\(?[<>#!]/.test(word);
}

function isReset(word: string): boolean {
  return ["reset", "resetpass"].includes(word.toLowerCase());
}

/** An empty name of the first user stands for the user `default`, which clients of old log in as with a password alone. */
const anyName = v.union([v.literal(""), name], "must be a text in quotes without spaces, or empty");
const empty = v.pipe(
  v.null(),
  v.transform(() => ""),
);
const fixedUser = v.strictObject(
  { name: v.optional(v.union([empty, anyName]), ""), pass: passwords },
  "has a name and passwords only: its rights are fixed",
);
const serviceUser = v.strictObject({ name, pass: passwords }, "has a name and passwords only: its rights are fixed");

const user = v.pipe(
  v.strictObject(
    {
      name,
      pass: v.optional(v.array(password, 'must be a list of texts: ["..."]'), []),
      acl: v.optional(rules, ""),
    },
    "has the fields name, pass and acl",
  ),
  v.check(
    ({ pass, acl }) => pass.length > 0 || words(acl).some((word) => /^(nopass|off)$/i.test(word)),
    "has no password: give pass, or say nopass in acl if anybody may be this user",
  ),
  v.check(
    ({ pass, acl }) => pass.length === 0 || !words(acl).some((word) => /^nopass$/i.test(word)),
    "has passwords and says nopass: keep one of them",
  ),
);

const definitions = v.strictObject(
  {
    "valkey-user": v.optional(fixedUser),
    "replication-user": v.optional(serviceUser),
    "exporter-user": v.optional(serviceUser),
    users: v.optional(v.array(user, "must be a list"), []),
  },
  "has the fields valkey-user, replication-user, exporter-user and users",
);
export type AclDefinitions = v.InferOutput<typeof definitions>;

export const ACL_KEY = "acl-definitions.yaml";

export type ReadDefinitions = { readonly value: AclDefinitions } | { readonly wrong: string };

export function readDefinitions(text: string): ReadDefinitions {
  const document = parseYaml(text);
  if (document === undefined) return { wrong: `${ACL_KEY} cannot be read as YAML: check its indentation and quotes` };
  const read = v.safeParse(definitions, document.value ?? {});
  if (!read.success) return { wrong: told(read.issues, document.value) };
  const twice = firstTwice(namesOf(read.output));
  if (twice !== undefined) return { wrong: `${ACL_KEY}: the user ${twice} is defined twice` };
  return { value: read.output };
}

/** The parser's own words could quote the document. */
function parseYaml(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: Bun.YAML.parse(text) };
  } catch {
    return undefined;
  }
}

/** `default` for the first user without a name. */
export function namesOf(given: AclDefinitions): string[] {
  const first = given["valkey-user"];
  const services = [given["replication-user"], given["exporter-user"]].flatMap((each) => each?.name ?? []);
  return [
    ...(first === undefined ? [] : [first.name === "" ? "default" : first.name]),
    ...services,
    ...given.users.map((each) => each.name),
  ];
}

function firstTwice(names: readonly string[]): string | undefined {
  return names.find((each, index) => names.indexOf(each) !== index);
}

const MOST_TOLD = 3;

function told(issues: readonly v.BaseIssue<unknown>[], document: unknown): string {
  const texts = issues.slice(0, MOST_TOLD).map((issue) => `${placeOf(issue, document)} ${messageOf(issue)}`);
  const more = issues.length > MOST_TOLD ? `; and ${issues.length - MOST_TOLD} more` : "";
  return `${ACL_KEY}: ${texts.join("; ")}${more}`;
}

/** valibot's own messages repeat the value, so only ours are told. */
function messageOf({ type, message, received }: v.BaseIssue<unknown>): string {
  if (type === "strict_object" && received === "undefined") return "is missing";
  return message.startsWith("Invalid") ? "is missing or of the wrong type" : message;
}

const FIELDS: ReadonlySet<unknown> = new Set([...Object.keys(definitions.entries), "name", "pass", "acl"]);

/** `users[2] (app) pass[0]`. A field that we do not know is not named: it may be a password that lost its quotes. */
function placeOf({ path }: v.BaseIssue<unknown>, document: unknown): string {
  let at = document;
  let place = "";
  for (const { key } of path ?? []) {
    at = step(at, key);
    if (typeof key === "number") place += `[${key}]`;
    else if (FIELDS.has(key)) place += `${place === "" ? "" : " "}${String(key)}`;
    const named = step(at, "name");
    if (v.is(name, named)) place += ` (${named})`;
  }
  return place === "" ? "the document" : place;
}

function step(value: unknown, key: unknown): unknown {
  if (typeof value !== "object" || value === null || (typeof key !== "string" && typeof key !== "number")) return;
  return Object.getOwnPropertyDescriptor(value, key)?.value;
}
