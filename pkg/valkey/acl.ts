/** Users: the lines of an ACL file and of ACL LIST, which look alike. */
import { createHash } from "node:crypto";
import type { Login } from "./connection.ts";

/** The name in `user NAME rules…`; undefined when it is no such line, or more than one. */
export function userOf(line: string): string | undefined {
  return /^\s*user\s+(?<name>[^\s\0]+)(?:[^\S\r\n][^\r\n\0]*)?$/u.exec(line)?.groups?.["name"];
}

/** By name. Lines that name no user are left out. */
export function usersOf(lines: readonly string[]): ReadonlyMap<string, string> {
  const users = new Map<string, string>();
  for (const line of lines) {
    const name = userOf(line);
    if (name !== undefined) users.set(name, line);
  }
  return users;
}

/** A user who may do everything, known by the hash of its password. */
export function adminLine({ username = "default", password }: Login): string {
  const hash = createHash("sha256").update(password).digest("hex");
  return `user ${username} on sanitize-payload #${hash} ~* &* +@all`;
}

/** Users whose lines differ or are in one of the two only, in order. */
export function differingUsers(
  expected: ReadonlyMap<string, string>,
  live: ReadonlyMap<string, string>,
): readonly string[] {
  const names = new Set([...expected.keys(), ...live.keys()]);
  return [...names].filter((name) => expected.get(name) !== live.get(name)).toSorted();
}

/** The default user of a server that asks for no password; only the first of two versions names the flag. */
export function isOpenDefault(line: string): boolean {
  return line.replace(" sanitize-payload", "") === "user default on nopass ~* &* +@all";
}

/** An error of ACL LOAD may quote a rule, and a rule may be a password. */
export function withoutPasswords(message: string): string {
  return message.replaceAll(/(?<=^|['"\s])[<>#!][^\s'"]+/gu, "(a password)");
}
