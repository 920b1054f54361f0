import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { adminLine, differingUsers, isOpenDefault, userOf, usersOf, withoutPasswords } from "./acl.ts";

test("a line names one user, or none", () => {
  expect(userOf("user app on >x ~* +@all")).toBe("app");
  expect(userOf("  user app")).toBe("app");
  for (const line of [
    "",
    "user",
    "user ",
    "users app on",
    "# user app",
    "user a on\nuser b on",
    "user a\rb",
    "user a\0 on",
  ]) {
    expect([line, userOf(line)]).toEqual([line, undefined]);
  }
});

test("no line break gets through in a line that is taken", () => {
  const property = fc.property(fc.string({ maxLength: 40 }), fc.constantFrom("\n", "\r", "\0"), (text, cut) => {
    expect(userOf(`user app on${text}${cut}${text}`)).toBeUndefined();
  });
  fc.assert(property);
});

test("users that were added, changed or deleted, in order", () => {
  const expected = usersOf(["user a on", "user b on", "user c on", "nonsense"]);
  expect(differingUsers(expected, usersOf(["user a on", "user b off", "user d on"]))).toEqual(["b", "c", "d"]);
  expect(differingUsers(expected, expected)).toEqual([]);
});

test("the open default user is known in both versions' words, a changed one is not", () => {
  expect(isOpenDefault("user default on nopass sanitize-payload ~* &* +@all")).toBe(true);
  expect(isOpenDefault("user default on nopass ~* &* +@all")).toBe(true);
  expect(isOpenDefault("user default on nopass ~* &* +@all -flushall")).toBe(false);
});

test("no password in a line or a message", () => {
  expect(adminLine({ username: "agent", password: "s3cret" })).not.toContain("s3cret");
  for (const rule of [">s3cret", "<s3cret", "#s3cret", "!s3cret"]) {
    expect(withoutPasswords(`ERR in operation '${rule}': no. ${rule} "${rule}"`)).not.toContain("s3cret");
  }
  expect(withoutPasswords("ERR Error in applying operation '+nosuch': Unknown command")).toContain("'+nosuch'");
});
