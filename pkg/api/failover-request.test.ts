import { expect, test } from "bun:test";
import { failoverText, readFailoverRequest } from "./failover-request.ts";

test("what is written is read", () => {
  const request = { id: "maintenance-1", shard: 3, to: "shop-3-1", at: "2026-01-02T03:04:05.678Z" };
  expect(readFailoverRequest(failoverText(request))).toEqual({ request });
});

test("what cannot be read is said, with an example", () => {
  const wrong = (text: string) => {
    const read = readFailoverRequest(text);
    return "wrong" in read ? read.wrong : undefined;
  };
  expect(wrong("shard 1")).toContain('it has to be like {"id"');
  expect(wrong('{"id":"x","shard":0,"at":"2026-01-02T03:04:05Z"}')).toContain("id: must be 6 to 63");
  expect(wrong('{"id":"abcdef","shard":-1,"at":"2026-01-02T03:04:05Z"}')).toContain("shard");
  expect(wrong('{"id":"abcdef","shard":0,"at":"now"}')).toContain("at: must be a time");
  expect(wrong('{"id":"abcdef","shard":0,"at":"2026-01-02T03:04:05Z","force":true}')).toContain("force");
});
