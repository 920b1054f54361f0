import { expect, test } from "bun:test";
import { roomAt, roomTrouble } from "./disk-room.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;

test("a disk is told when it is full, or a small one when it is almost full", () => {
  const reason = (bytes: number, free: number) => roomTrouble({ bytes, free })?.[0];
  expect(reason(64 * MIB, 0)).toBe("DiskFull");
  expect(reason(64 * MIB, 5 * MIB)).toBe("DiskAlmostFull");
  expect(reason(64 * MIB, 8 * MIB)).toBeUndefined();
  expect(reason(1000 * GIB, 20 * GIB)).toBeUndefined();
  expect(reason(1000 * GIB, 5 * GIB)).toBe("DiskAlmostFull");
});

test("the room of a folder is that of its disk", () => {
  expect(roomAt("/")?.bytes).toBeGreaterThan(roomAt("/")?.free ?? Number.POSITIVE_INFINITY);
  expect(roomAt("/no/such/folder")).toBeUndefined();
});
