import { expect, test } from "bun:test";
import { type FrameFault, FrameStream } from "./fault-proxy-frames.ts";

async function through(fault: FrameFault | undefined, frames: number, random: () => number): Promise<string[]> {
  const out: string[] = [];
  const stream = new FrameStream(
    (text) => out.push(text.trimEnd()),
    () => fault,
    random,
  );
  for (let n = 0; n < frames; n += 1) stream.push(Buffer.from(`${n}\n`));
  await stream.drained();
  return out;
}

/** Hits every second time. */
function alternating(): () => number {
  let turn = 0;
  return () => {
    turn += 1;
    return turn % 2 === 1 ? 0 : 0.99;
  };
}

test("frames pass unchanged without a fault, and in order when slow", async () => {
  expect(await through(undefined, 4, Math.random)).toEqual(["0", "1", "2", "3"]);
  expect(await through({ kind: "slow", delayMs: 1 }, 4, Math.random)).toEqual(["0", "1", "2", "3"]);
});

test("frames are swapped, repeated and lost as asked, and swapping loses none", async () => {
  expect(await through({ kind: "reorder", share: 0.5 }, 4, alternating())).toEqual(["1", "0", "3", "2"]);
  expect(await through({ kind: "drop", share: 0.5 }, 4, alternating())).toEqual(["1", "3"]);
  const repeated = await through({ kind: "duplicate", share: 1 }, 3, () => 0);
  expect(repeated).toEqual(["0", "0", "1", "1", "2", "2"]);
});
