import { expect, test } from "bun:test";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import type { Granted, Question, Renew, Reply } from "../../plan/lease/message.ts";
import { AskRequestSchema, AskResponseSchema } from "../../rpc/gen/valkey/agent/v1/peer_pb.ts";
import { askRequest, eraOf, readQuestion, readReply } from "./wire.ts";
import { AnswerReader, AnswerWriter, QuestionReader, QuestionWriter } from "./wire-stream.ts";

const ERA = { stream: "s", base: 9, from: 12, before: 2 };
const SENDERS = [3, 4].map((epoch) => ({ nodeId: "n", ip: "10.0.0.1", era: { ...ERA, epoch } }));
const SETS = [1, 2].map((version) => ({ version, members: [{ node: "a", run: `a/${version}` }] }));
const ENVELOPE = { from: "a", to: "b", boot: "boot", run: "run", shard: 1, epoch: 7, seq: 1 };

/** Few values of each, so that messages in a row are alike in all ways in which they can be. */
const envelope = {
  from: fc.constantFrom("a", "me"),
  to: fc.constantFrom("b", "c", "", "é", "x".repeat(100), "y".repeat(200)),
  boot: fc.constantFrom("boot", "another"),
  run: fc.constantFrom("run", ""),
  shard: fc.constantFrom(0, 1),
  epoch: fc.constantFrom(7, 8),
  seq: fc.constantFrom(0, 1, 127, 128, 2 ** 40, Number.MAX_SAFE_INTEGER),
};
const question: fc.Arbitrary<Question> = fc.oneof(
  fc.record({ ...envelope, kind: fc.constant("renew"), inSync: fc.constantFrom(...SETS) }),
  fc.record({ ...envelope, kind: fc.constant("ask") }),
  fc.record({ ...envelope, kind: fc.constant("ask-memory") }),
);
const reply: fc.Arbitrary<Reply> = fc.oneof(
  fc.record({ ...envelope, kind: fc.constant("granted"), askedBy: fc.constantFrom("x", "y") }),
  fc.record({
    ...envelope,
    kind: fc.constant("refused"),
    askedBy: fc.constant("x"),
    hold: fc.constant({ name: "n", reason: "r" }),
  }),
);
const sender = fc.constantFrom(...SENDERS);

test("questions of a stream arrive as they were asked, also at an agent that reads each as a whole", () => {
  const property = fc.property(fc.array(fc.tuple(question, sender)), (asked) => {
    const [writer, reader] = [new QuestionWriter(), new QuestionReader()];
    for (const [one, from] of asked) {
      const bytes = writer.write(one, from);
      const { envelope: spoken, message } = reader.read(bytes);
      expect(message).toEqual(one);
      expect(spoken?.from).toBe(one.from);
      if (spoken !== undefined) expect(eraOf(spoken)).toEqual(from.era);
      expect(readQuestion(fromBinary(AskRequestSchema, bytes))).toEqual(one);
    }
  });
  fc.assert(property);
});

test("answers of a stream arrive as they were given, also at an agent that reads each as a whole", () => {
  const property = fc.property(fc.array(fc.tuple(fc.option(reply, { nil: undefined }), sender)), (given) => {
    const [writer, reader] = [new AnswerWriter(), new AnswerReader()];
    for (const [one, from] of given) {
      const bytes = writer.write(one, from);
      expect(reader.read(bytes).message).toEqual(one);
      expect(readReply(fromBinary(AskResponseSchema, bytes))).toEqual(one);
    }
  });
  fc.assert(property);
});

test("what was read once is read again when anything but the end is new", () => {
  const [sent] = SENDERS;
  const [inSync = { version: 0, members: [] }] = SETS;
  if (sent === undefined) throw new Error("there is no sender");
  const reader = new QuestionReader();
  const renewal: Renew = { ...ENVELOPE, kind: "renew", inSync };
  const first = reader.read(new QuestionWriter().write(renewal, sent));
  const again = reader.read(new QuestionWriter().write({ ...renewal, seq: 2 }, sent));
  expect(again.envelope).toBe(first.envelope);
  const moved = reader.read(new QuestionWriter().write({ ...renewal, seq: 3 }, { ...sent, ip: "10.0.0.2" }));
  expect(moved.envelope).toMatchObject({ ip: "10.0.0.2" });
});

test("an end that says more than to whom and which is not taken for one", () => {
  const [sent] = SENDERS;
  if (sent === undefined) throw new Error("there is no sender");
  const [writer, reader] = [new AnswerWriter(), new AnswerReader()];
  const grant: Granted = { ...ENVELOPE, kind: "granted", askedBy: "x" };
  const bytes = writer.write(grant, sent);
  expect(reader.read(bytes).message).toEqual(grant);
  const more = toBinary(AskRequestSchema, askRequest({ ...ENVELOPE, kind: "ask", seq: 5, epoch: 9 }, sent));
  // Another envelope behind the same beginning; what it asks is no field of an answer.
  const longer = Buffer.concat([bytes.subarray(0, bytes.length - 7), more.subarray(0, more.length - 2)]);
  expect(reader.read(longer).message).toMatchObject({ seq: 5, epoch: 9 });
});
