import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { encodeCommand, type Reply, ReplyError, ReplyParser } from "./resp.ts";

function encode(reply: Reply): string {
  if (reply === null) return "$-1\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (typeof reply === "string") return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  if (reply instanceof ReplyError) return `-${reply.message}\r\n`;
  return `*${reply.length}\r\n${reply.map(encode).join("")}`;
}

const { reply: anyReply } = fc.letrec<{ reply: Reply }>((tie) => ({
  reply: fc.oneof(
    { depthSize: "small" },
    fc.string({ unit: "grapheme" }),
    fc.integer(),
    fc.constant(null),
    fc.array(tie("reply"), { maxLength: 4 }),
  ),
}));

test("replies come out the same however the network cuts them", () => {
  const property = fc.property(
    fc.array(anyReply, { maxLength: 5 }),
    fc.integer({ min: 1, max: 7 }),
    (replies, size) => {
      const bytes = Buffer.from(replies.map(encode).join(""));
      const parser = new ReplyParser();
      const seen: Reply[] = [];
      for (let at = 0; at < bytes.length; at += size) seen.push(...parser.push(bytes.subarray(at, at + size)));
      expect(seen).toEqual(replies);
    },
  );
  fc.assert(property);
});

test("an error reply has its first word as code", () => {
  const [reply] = new ReplyParser().push(Buffer.from("-MOVED 42 127.0.0.1:7001\r\n"));
  expect(reply instanceof ReplyError ? reply.code : reply).toBe("MOVED");
});

test("a peer that does not speak RESP2 is refused", () => {
  expect(() => new ReplyParser().push(Buffer.from("HTTP/1.1 400 Bad Request\r\n"))).toThrow("not a RESP2 reply");
});

test("a command's lengths count bytes, not characters", () => {
  expect(encodeCommand(["GET", "é"])).toBe("*2\r\n$3\r\nGET\r\n$2\r\né\r\n");
});

test("lengths that are none, and arrays without end, are refused instead of being believed", () => {
  expect(() => new ReplyParser().push(Buffer.from("$abc\r\n"))).toThrow("not a RESP2 reply");
  expect(() => new ReplyParser().push(Buffer.from(":\r\n"))).toThrow("not a RESP2 reply");
  expect(() => new ReplyParser().push(Buffer.from("*1\r\n".repeat(40)))).toThrow("nested too deeply");
  expect(new ReplyParser().push(Buffer.from("*999999999\r\n:1\r\n"))).toEqual([]);
});
