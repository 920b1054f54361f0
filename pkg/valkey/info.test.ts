import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { countKeys, infoInteger, infoReplicas, infoText, parseInfo } from "./info.ts";
import { parseRole } from "./role.ts";

test("fields, whatever their values hold", () => {
  const fields = parseInfo("# Server\r\nrun_id:abc\r\nexecutable:/a:b\r\n\r\nempty:\r\nno field\r\n:none\r\n");
  const names = ["run_id", "executable", "empty", "no field", "id", "Server"];
  expect(names.map((name) => fields.get(name))).toEqual(["abc", "/a:b", "", undefined, undefined, undefined]);
  expect(infoInteger(fields, "run_id")).toBeUndefined();
  expect(() => infoText(fields, "role")).toThrow("[bad-response] INFO: the field role is missing");
});

test("keys of all databases, replicas with IPv6 addresses, numbers beyond 2^53", () => {
  const fields = parseInfo(
    "db0:keys=3,expires=1,avg_ttl=0\r\ndb11:keys=4,expires=0\r\nslave0:ip=fd00::2,port=6379,state=online,offset=9007199254740993,lag=0\r\nslave1:ip=10.0.0.3,port=6379,state=wait_bgsave,offset=0,lag=0,type=rdb-channel\r\nslave_repl_offset:-1\r\n",
  );
  expect(countKeys(fields)).toBe(7n);
  expect(infoInteger(fields, "slave_repl_offset")).toBe(-1n);
  expect(infoReplicas(fields)).toEqual([
    { ip: "fd00::2", port: 6379, offset: 9_007_199_254_740_993n, state: "online", lagSeconds: 0 },
    { ip: "10.0.0.3", port: 6379, offset: 0n, state: "wait_bgsave", lagSeconds: 0 },
  ]);
});

test("any field is read back", () => {
  const word = fc.string({ unit: fc.constantFrom(..."abcz_09".split("")), minLength: 1 });
  const value = fc.string({ unit: fc.constantFrom(..."a1:=,# é".split("")), maxLength: 30 });
  const property = fc.property(fc.dictionary(word, value), (expected) => {
    const text = Object.entries(expected).map(([name, value]) => `${name}:${value}\r\n`);
    const fields = parseInfo(`# A\r\n${text.join("")}`);
    for (const [name, value] of Object.entries(expected)) expect(fields.get(name)).toBe(value);
  });
  fc.assert(property);
});

test("ROLE of both kinds; anything else is refused", () => {
  expect(parseRole(["master", 42, [["10.0.0.2", "6379", "40"]]])).toEqual({
    role: "primary",
    offset: 42,
    replicas: [{ ip: "10.0.0.2", port: 6379, offset: 40 }],
  });
  expect(parseRole(["slave", "10.0.0.1", 6379, "connected", -1])).toEqual({
    role: "replica",
    primary: { host: "10.0.0.1", port: 6379 },
    link: "connected",
    offset: -1,
  });
  for (const reply of ["master", null, [], ["sentinel", []], ["slave", "h", "6379", "connected", 1]]) {
    expect(() => parseRole(reply)).toThrow("[bad-response] ROLE");
  }
});
