/**
 * The users of a cluster, as lines of an ACL file. Passwords stand in it as hashes only. The user `default` is off unless
 * it is defined: without its line the server would let everybody in.
 */
import { type AclDefinitions, namesOf, readDefinitions } from "./acl-definitions.ts";

export const REPLICATION_USER = "valkey-replication";
export const EXPORTER_USER = "valkey-exporter";

/** What the server asks a replica for, and no more. */
const REPLICATION_RIGHTS = "+psync +replconf +ping";
/** What the exporter reads when it is told to leave settings and keys alone. */
const EXPORTER_RIGHTS =
  "+ping +info +client|setname +cluster|info +slowlog|len +slowlog|get +latency|latest +latency|histogram";
const ALL_RIGHTS = "~* &* +@all";

export interface Login {
  readonly username: string;
  readonly password: string;
}

/** Passwords that were made before; undefined when there are none yet. */
export interface MadeBefore {
  readonly replication?: Login | undefined;
  readonly exporterPassword?: string | undefined;
}

export interface Users {
  readonly lines: readonly string[];
  /** With which replicas log in at their primary. */
  readonly replication: Login;
  readonly exporter: Login;
}

export type UsersOutcome = { readonly value: Users } | { readonly wrong: string };

export function usersOf(text: string, before: MadeBefore, newPassword: () => string): UsersOutcome {
  const read = readDefinitions(text);
  if ("wrong" in read) return read;
  const given = read.value;
  const clash = clashOf(given);
  if (clash !== undefined) return { wrong: clash };
  const replication = given["replication-user"] ?? made(REPLICATION_USER, madeReplication(before), newPassword);
  const exporter = given["exporter-user"] ?? made(EXPORTER_USER, before.exporterPassword, newPassword);
  return {
    value: {
      lines: [
        ...firstUser(given),
        line({ ...replication, rights: REPLICATION_RIGHTS }),
        line({ ...exporter, rights: EXPORTER_RIGHTS }),
        ...given.users.map(({ name, pass, acl }) => line({ name, pass, rights: acl })),
      ],
      replication: login(replication),
      exporter: login(exporter),
    },
  };
}

interface Named {
  readonly name: string;
  readonly pass: readonly string[];
}

/** Our own names are free for whoever defines both of the users that would bear them. */
function clashOf(given: AclDefinitions): string | undefined {
  const ours = [
    ...(given["replication-user"] === undefined ? [REPLICATION_USER] : []),
    ...(given["exporter-user"] === undefined ? [EXPORTER_USER] : []),
  ];
  const clash = namesOf(given).find((name) => ours.includes(name));
  if (clash === undefined) return undefined;
  return `the user ${clash} is one that the operator makes itself: choose another name, or define it as replication-user or exporter-user`;
}

function madeReplication({ replication }: MadeBefore): string | undefined {
  return replication?.username === REPLICATION_USER ? replication.password : undefined;
}

function made(name: string, before: string | undefined, newPassword: () => string): Named {
  return { name, pass: [before === undefined || before === "" ? newPassword() : before] };
}

/** Of several passwords the first is the newest, which we use; the others are still let in. */
function login({ name, pass }: Named): Login {
  return { username: name, password: pass[0] ?? "" };
}

/** The administrator; without a name it is the user that clients are when they send a password alone. */
function firstUser(given: AclDefinitions): string[] {
  const first = given["valkey-user"];
  const admin = first === undefined ? [] : [line({ ...first, name: first.name || "default", rights: ALL_RIGHTS })];
  return namesOf(given).includes("default") ? admin : ["user default off", ...admin];
}

function line({ name, pass, rights }: Named & { readonly rights: string }): string {
  const hashes = pass.map((password) => `#${sha256(password)}`);
  return ["user", name, "on", ...hashes, ...(rights === "" ? [] : [rights])].join(" ");
}

function sha256(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
