import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { parseManifest } from "./append-only.ts";
import { parseRdbHeader } from "./rdb-header.ts";

function header(magic: string, fields: readonly (readonly [string, string])[], opcode: number): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    const length = bytes.length < 64 ? [bytes.length] : [0x40 | (bytes.length >> 8), bytes.length & 0xff];
    return Buffer.concat([Buffer.from(length), bytes]);
  };
  const aux = fields.map(([name, value]) => Buffer.concat([Buffer.from([0xfa]), text(name), text(value)]));
  return Buffer.concat([Buffer.from(magic), ...aux, Buffer.from([opcode])]);
}

test("the fields before the data, in both magics", () => {
  const fields = [
    ["valkey-ver", "8.1.1"],
    ["repl-id", "f".repeat(40)],
    ["repl-offset", "123456789012"],
  ] as const;
  expect(parseRdbHeader(header("REDIS0011", fields, 0xff))).toMatchObject({
    formatVersion: 11,
    replicationId: "f".repeat(40),
    replicationOffset: 123_456_789_012n,
    empty: true,
  });
  expect(parseRdbHeader(header("VALKEY080", [], 0xfe))).toMatchObject({
    formatVersion: 80,
    replicationOffset: undefined,
    empty: false,
  });
});

test("numbers stored as such", () => {
  const bytes = Buffer.concat([Buffer.from("REDIS0011"), Buffer.from([0xfa, 1, 0x61, 0xc2, 1, 2, 3, 4, 0xff])]);
  expect(parseRdbHeader(bytes).fields.get("a")).toBe(String(0x04_03_02_01));
});

test("a compressed field is passed over", () => {
  const bytes = [0xfa, 1, 0x61, 0xc3, 3, 0x40, 100, 1, 2, 3, 0xfa, 1, 0x62, 1, 0x63, 0xff];
  const { fields, empty } = parseRdbHeader(Buffer.concat([Buffer.from("VALKEY080"), Buffer.from(bytes)]));
  expect([fields.get("a"), fields.get("b"), empty]).toEqual(["", "c", true]);
});

test("a file cut short, and one that is something else, are told and not believed", () => {
  const whole = header("REDIS0011", [["repl-offset", "1"]], 0xff);
  for (let length = 0; length < whole.length; length++) {
    expect(() => parseRdbHeader(whole.subarray(0, length))).toThrow(/begin like|cut short/u);
  }
  const hostile = Buffer.concat([Buffer.from("REDIS0011"), Buffer.from([0xfa, 0x80, 0xff, 0xff, 0xff, 0xff])]);
  expect(() => parseRdbHeader(hostile)).toThrow("cut short");
});

test("any bytes either are a header or are refused", () => {
  const property = fc.property(fc.uint8Array({ maxLength: 200 }), (tail) => {
    const bytes = Buffer.concat([Buffer.from("VALKEY080"), tail]);
    try {
      expect(parseRdbHeader(bytes).formatVersion).toBe(80);
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
    }
  });
  fc.assert(property);
});

test("a manifest names what is loaded: base and increments, no history", () => {
  const text = [
    "file appendonly.aof.2.base.rdb seq 2 type b",
    'file "a b.aof.1.incr.aof" seq 1 type i startoffset 0',
    "file appendonly.aof.1.base.rdb seq 1 type h",
    "nonsense",
  ];
  expect(parseManifest(text.join("\n"))).toEqual(["appendonly.aof.2.base.rdb", "a b.aof.1.incr.aof"]);
});
