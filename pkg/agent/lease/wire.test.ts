import { expect, test } from "bun:test";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import type { Standing } from "../../plan/lease/copy.ts";
import type { Question, Reply } from "../../plan/lease/message.ts";
import { AskRequestSchema, AskResponseSchema } from "../../rpc/gen/valkey/agent/v1/peer_pb.ts";
import { askRequest, askResponse, readQuestion, readReply } from "./wire.ts";

const SENDER = { nodeId: "n", ip: "10.0.0.1", era: { stream: "s", epoch: 3, base: 9, from: 12, before: 2 } };
const name = fc.string({ minLength: 1, maxLength: 12 });
const count = fc.nat({ max: 2 ** 40 });
const small = fc.nat({ max: 1000 });
const optional = fc.option(name, { nil: undefined });

const envelope = { from: name, to: name, boot: name, run: fc.string(), shard: small, epoch: count, seq: count };
const inSync = fc.record({ version: count, members: fc.array(fc.record({ node: name, run: name })) });
const memory = fc.record({ epoch: count, inSync });
const standing = (node: string): fc.Arbitrary<Standing> =>
  fc.record({
    node: fc.constant(node),
    shard: small,
    member: small,
    run: fc.string(),
    phase: fc.constantFrom("absent", "gated", "loading", "running", "silent"),
    role: fc.constantFrom("primary", "replica", undefined),
    hasData: fc.boolean(),
    dataEpoch: count,
    offset: count,
    tableEpoch: count,
    primary: fc.boolean(),
    linkUp: fc.boolean(),
    holdsLease: fc.boolean(),
    leaving: fc.boolean(),
  });

const question: fc.Arbitrary<Question> = fc.oneof(
  fc.record({ ...envelope, kind: fc.constant("renew"), inSync }),
  fc.record({ ...envelope, kind: fc.constant("ask") }),
  fc.record({ ...envelope, kind: fc.constant("release"), successor: optional, offset: count, stopped: fc.boolean() }),
  fc.record({ ...envelope, kind: fc.constant("ask-standing") }),
  fc.record({ ...envelope, kind: fc.constant("ask-memory") }),
);

const answer = { ...envelope, from: fc.constant("me"), askedBy: name };
const remembered = fc.record({ memory, holder: optional, promise: fc.boolean(), grantEpoch: fc.integer({ min: 1 }) });
const reply: fc.Arbitrary<Reply> = fc.oneof(
  fc.record({ ...answer, kind: fc.constant("granted") }),
  fc.record({
    ...answer,
    kind: fc.constant("promised"),
    memory,
    holders: fc.array(fc.string()),
    standing: standing("me"),
  }),
  fc.record({ ...answer, kind: fc.constant("refused"), hold: fc.record({ name, reason: name }) }),
  fc.record({ ...answer, kind: fc.constant("standing"), standing: standing("me") }),
  fc.record({
    ...answer,
    kind: fc.constant("memory"),
    remembers: fc.boolean(),
    disregards: fc.boolean(),
    shards: fc.array(remembered),
  }),
);

test("every question arrives as it was asked", () => {
  const property = fc.property(question, (asked) => {
    const bytes = toBinary(AskRequestSchema, askRequest(asked, SENDER));
    expect(readQuestion(fromBinary(AskRequestSchema, bytes))).toEqual(asked);
  });
  fc.assert(property);
});

test("every answer arrives as it was given, and none is none", () => {
  const property = fc.property(reply, (given) => {
    const bytes = toBinary(AskResponseSchema, askResponse(given, SENDER));
    // A server that hangs is silent for those who ask: nothing good can be said of it.
    expect(readReply(fromBinary(AskResponseSchema, bytes))).toEqual(given);
  });
  fc.assert(property);
  expect(readReply(askResponse(undefined, SENDER))).toBeUndefined();
});

test("an agent speaks for its own node alone", () => {
  const [told] = fc.sample(standing("another"), 1);
  if (told === undefined) throw new Error("no sample");
  const base = { from: "me", to: "you", boot: "b", run: "r", shard: 0, epoch: 1, seq: 1, askedBy: "c" };
  const wire = askResponse({ ...base, kind: "standing", standing: told }, SENDER);
  expect(() => readReply(wire)).toThrow("me did not say what it is");
});

test("a question that nobody knows is refused", () => {
  expect(() => readQuestion(fromBinary(AskRequestSchema, new Uint8Array()))).toThrow("does not say who asks");
});
