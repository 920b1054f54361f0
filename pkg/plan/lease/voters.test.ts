import { expect, test } from "bun:test";
import { spareOf } from "../objects/members.ts";
import { chooseVoters } from "./voters.ts";

const member = (shard: number, number: number) => ({ node: `c-${shard}-${number}`, shard, member: number });
const SIX = [0, 1, 2].flatMap((shard) => [member(shard, 0), member(shard, 1)]);

test("an odd number, one of each shard before a second of any", () => {
  expect(chooseVoters(SIX)).toEqual(["c-0-0", "c-1-0", "c-2-0", "c-0-1", "c-1-1"]);
});

test("a spare changes nothing: majorities before, with and after it share a voter", () => {
  const spares = [0, 1, 2].map((shard) => ({ node: `c-${shard}-spare`, ...spareOf(shard) }));
  expect(chooseVoters([...SIX, ...spares])).toEqual(chooseVoters(SIX));
});
