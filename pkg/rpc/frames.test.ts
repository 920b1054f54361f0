import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { encodeFrame, type Frame, FrameReader } from "./frames.ts";

const frame: fc.Arbitrary<Frame> = fc.record({
  id: fc.nat({ max: 2 ** 32 - 1 }),
  body: fc.uint8Array({ maxLength: 40 }),
});

test("whatever the pieces are, the messages are the same", () => {
  const property = fc.property(fc.array(frame), fc.array(fc.integer({ min: 1, max: 30 })), (frames, cuts) => {
    const bytes = Buffer.concat(frames.map(encodeFrame));
    const reader = new FrameReader(1000);
    const read: Frame[] = [];
    for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
      const size = cuts[turn % Math.max(1, cuts.length)] ?? bytes.length;
      read.push(...reader.push(bytes.subarray(at, at + size)));
      at += size;
    }
    expect(read.map(({ id, body }) => [id, [...body]])).toEqual(frames.map(({ id, body }) => [id, [...body]]));
  });
  fc.assert(property);
});

test("a message that is too long is refused before it is there", () => {
  const reader = new FrameReader(10);
  expect(() => reader.push(encodeFrame({ id: 1, body: new Uint8Array(11) }).subarray(0, 8))).toThrow("longer than 10");
});
