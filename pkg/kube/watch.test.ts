import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { LineReader } from "./watch.ts";

test("lines come out whole, however the bytes were cut", () => {
  const line = fc
    .string({ unit: "binary", minLength: 1, maxLength: 12 })
    .filter((text) => !text.includes("\n") && text.trim() !== "");
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      (lines, cuts) => {
        const seen: string[] = [];
        const reader = new LineReader((text) => seen.push(text));
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
        for (let at = 0, n = 0; at < bytes.length; n += 1) {
          const size = cuts[n % cuts.length] ?? 1;
          reader.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(seen).toEqual(lines.map((text) => Buffer.from(text).toString()));
      },
    ),
  );
});

test("no line is given after the reader was stopped, not even of the same chunk", () => {
  const seen: string[] = [];
  const reader: LineReader = new LineReader((text) => {
    seen.push(text);
    reader.stop();
  });
  reader.push(Buffer.from("one\ntwo\n"));
  expect(seen).toEqual(["one"]);
});
