/** Questions and answers about leases, as they go over the wire. What does not make sense is refused. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Standing } from "../../plan/lease/copy.ts";
import type { RememberedShard, ShardMemory } from "../../plan/lease/memory.ts";
import type { Message, Question, Reply } from "../../plan/lease/message.ts";
import {
  type AskRequest,
  AskRequestSchema,
  type AskResponse,
  AskResponseSchema,
  CandidacySchema,
  type Envelope,
  EnvelopeSchema,
  GrantSchema,
  type InSyncSet,
  LeaseRefusalSchema,
  MemoryQuestionSchema,
  MemorySchema,
  PromiseSchema,
  ReleaseSchema,
  RenewalSchema,
  StandingQuestionSchema,
  StandingSchema,
  type RememberedShard as WireRememberedShard,
  type ShardMemory as WireShardMemory,
  type Standing as WireStanding,
} from "../../rpc/gen/valkey/agent/v1/peer_pb.ts";
import type { Era } from "./eras.ts";
import { fromPhase, fromRole, toPhase, toRole } from "./wire-names.ts";

/** What goes with every message beside what the rules need. */
export interface Sender {
  readonly nodeId: string;
  readonly ip: string;
  /** Of its server. */
  readonly era: Era;
}

export function sameSender(a: Sender, b: Sender): boolean {
  return a.nodeId === b.nodeId && a.ip === b.ip && sameEra(a.era, b.era);
}

function sameEra(a: Era, b: Era): boolean {
  const begun = a.epoch === b.epoch && a.from === b.from && a.before === b.before;
  return begun && a.stream === b.stream && a.base === b.base;
}

export type EraField = "stream" | "dataEpoch" | "streamBase" | "eraFrom" | "epochBefore";

export function eraOf({ stream, dataEpoch, streamBase, eraFrom, epochBefore }: Pick<Envelope, EraField>): Era {
  const [epoch, base] = [Number(dataEpoch), Number(streamBase)];
  return { stream, epoch, base, from: Number(eraFrom), before: Number(epochBefore) };
}

function eraFields({ stream, epoch, base, from, before }: Era) {
  const began = { eraFrom: BigInt(from), epochBefore: BigInt(before) };
  return { stream, dataEpoch: BigInt(epoch), streamBase: BigInt(base), ...began };
}

export function askRequest(message: Question, sender: Sender): AskRequest {
  return create(AskRequestSchema, { envelope: envelope(message, sender), question: questionOf(message) });
}

function questionOf(message: Question): AskRequest["question"] {
  switch (message.kind) {
    case "renew":
      return { case: "renewal", value: create(RenewalSchema, { inSync: inSync(message.inSync) }) };
    case "ask":
      return { case: "candidacy", value: create(CandidacySchema) };
    case "release": {
      const { successor = "", offset, stopped } = message;
      return { case: "release", value: create(ReleaseSchema, { successor, offset: BigInt(offset), stopped }) };
    }
    case "ask-standing":
      return { case: "standing", value: create(StandingQuestionSchema) };
    case "ask-memory":
      return { case: "memory", value: create(MemoryQuestionSchema) };
  }
}

export function askResponse(reply: Reply | undefined, sender: Sender): AskResponse {
  if (reply === undefined) return create(AskResponseSchema, {});
  return create(AskResponseSchema, {
    envelope: envelope(reply, sender),
    askedBy: reply.askedBy,
    answer: answerOf(reply),
  });
}

function answerOf(reply: Reply): AskResponse["answer"] {
  switch (reply.kind) {
    case "granted":
      return { case: "grant", value: create(GrantSchema) };
    case "promised":
      return {
        case: "promise",
        value: create(PromiseSchema, {
          memory: shardMemory(reply.memory),
          standing: standing(reply.standing),
          holders: [...reply.holders],
        }),
      };
    case "refused":
      return { case: "refusal", value: create(LeaseRefusalSchema, reply.hold) };
    case "standing":
      return { case: "standing", value: create(StandingSchema, standing(reply.standing)) };
    case "memory":
      return {
        case: "memory",
        value: create(MemorySchema, {
          remembers: reply.remembers,
          disregards: reply.disregards,
          shards: reply.shards.map(rememberedShard),
        }),
      };
  }
}

function envelope({ from, to, boot, run, shard, epoch, seq }: Message, sender: Sender) {
  const numbers = { epoch: BigInt(epoch), seq: BigInt(seq), ...eraFields(sender.era) };
  const { nodeId, ip } = sender;
  return create(EnvelopeSchema, { from, to, boot, run, shard, nodeId, ip, ...numbers });
}

function inSync({ version, members }: ShardMemory["inSync"]) {
  return { version: BigInt(version), members: members.map(({ node, run }) => ({ node, run })) };
}

function shardMemory({ epoch, inSync: set }: ShardMemory) {
  return { epoch: BigInt(epoch), inSync: inSync(set) };
}

function rememberedShard({ memory, holder = "", promise, grantEpoch }: RememberedShard) {
  return { memory: shardMemory(memory), holder, promise, grantEpoch: BigInt(grantEpoch) };
}

function standing({ phase, role, dataEpoch, offset, tableEpoch, ...rest }: Standing) {
  const numbers = { dataEpoch: BigInt(dataEpoch), offset: BigInt(offset), tableEpoch: BigInt(tableEpoch) };
  return { ...rest, ...numbers, phase: toPhase(phase), role: toRole(role) };
}

/** Throws when it is no question that this release knows. */
export function readQuestion({ envelope: from, question }: AskRequest): Question {
  if (from === undefined) throw new ConnectError("the question does not say who asks", Code.InvalidArgument);
  const base = readEnvelope(from);
  switch (question.case) {
    case "renewal":
      return { ...base, kind: "renew", inSync: readInSync(question.value.inSync) };
    case "candidacy":
      return { ...base, kind: "ask" };
    case "release": {
      const { successor, offset, stopped } = question.value;
      return { ...base, kind: "release", successor: successor || undefined, offset: Number(offset), stopped };
    }
    case "standing":
      return { ...base, kind: "ask-standing" };
    case "memory":
      return { ...base, kind: "ask-memory" };
    case undefined:
      throw new ConnectError("this release does not know the question", Code.Unimplemented);
  }
}

/** Undefined when nothing was answered. */
export function readReply({ envelope: from, askedBy, answer }: AskResponse): Reply | undefined {
  if (from === undefined || answer.case === undefined) return undefined;
  const base = { ...readEnvelope(from), askedBy };
  switch (answer.case) {
    case "grant":
      return { ...base, kind: "granted" };
    case "promise": {
      const { memory, standing: of, holders } = answer.value;
      return { ...base, kind: "promised", memory: readMemory(memory), holders, standing: readStanding(of, base.from) };
    }
    case "refusal": {
      const { name, reason } = answer.value;
      return { ...base, kind: "refused", hold: { name, reason } };
    }
    case "standing":
      return { ...base, kind: "standing", standing: readStanding(answer.value, base.from) };
    case "memory": {
      const { remembers, disregards, shards } = answer.value;
      return { ...base, kind: "memory", remembers, disregards, shards: shards.map(readRemembered) };
    }
  }
}

function readEnvelope({ from, to, boot, run, shard, epoch, seq }: Envelope) {
  return { from, to, boot, run, shard, epoch: Number(epoch), seq: Number(seq) };
}

function readInSync(set: InSyncSet | undefined): ShardMemory["inSync"] {
  return {
    version: Number(set?.version ?? 0n),
    members: (set?.members ?? []).map(({ node, run }) => ({ node, run })),
  };
}

function readMemory(memory: WireShardMemory | undefined): ShardMemory {
  return { epoch: Number(memory?.epoch ?? 0n), inSync: readInSync(memory?.inSync) };
}

/** An agent that does not tell the epoch of a grant knows no other than the shard's. */
function readRemembered({ memory: told, holder, promise, grantEpoch }: WireRememberedShard): RememberedShard {
  const memory = readMemory(told);
  return { memory, holder: holder || undefined, promise, grantEpoch: Number(grantEpoch) || memory.epoch };
}

/** An agent speaks for its own node alone. */
function readStanding(told: WireStanding | undefined, from: string): Standing {
  if (told === undefined || told.node !== from)
    throw new ConnectError(`${from} did not say what it is`, Code.InvalidArgument);
  const { node, shard, member, run, hasData, primary, linkUp, holdsLease, leaving } = told;
  return {
    node,
    shard,
    member,
    run,
    hasData,
    primary,
    linkUp,
    holdsLease,
    leaving,
    phase: fromPhase(told.phase),
    role: fromRole(told.role),
    dataEpoch: Number(told.dataEpoch),
    offset: Number(told.offset),
    tableEpoch: Number(told.tableEpoch),
  };
}
