/**
 * Questions and answers as they go over a stream that stays open. Renewals and grants come many times a second and differ
 * in the receiver and the number alone. These two stand at the end of such a message, in an envelope of their own, so that
 * all before it is written once and read once. On the wire it is the same message: parts of one field are put together by
 * whoever reads them.
 */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { Granted, Message, Question, Renew, Reply } from "../../plan/lease/message.ts";
import { AskRequestSchema, AskResponseSchema, type Envelope } from "../../rpc/gen/valkey/agent/v1/peer_pb.ts";
import { askRequest, askResponse, type EraField, readQuestion, readReply, type Sender } from "./wire.ts";

/** What a message says of its sender, and what it says; both are absent when there was nothing to answer. */
export interface Heard<M> {
  readonly envelope: Pick<Envelope, "from" | "nodeId" | "ip" | EraField> | undefined;
  readonly message: M | undefined;
}

type End = Pick<Message, "to" | "seq">;

const NO_END: End = { to: "", seq: 0 };
/** The tags of the three fields: their numbers (1, 2 and 7) and types. */
const ENVELOPE = 10;
const TO = 18;
const SEQ = 56;
/** Numbers from here on take more than one byte. */
const VARINT = 128;
/** Two tags, each with a length. */
const END_HEAD = 4;
/** Beside the name: the tags and a number. */
const LONGEST_END = 16;
/** What has its length in one byte. */
const LONGEST_READ = VARINT;
const PLAIN_NAME = /^[\x20-\x7e]{0,100}$/u;

export class QuestionWriter {
  #last: { readonly of: Renew; readonly sender: Sender; readonly head: Uint8Array } | undefined;

  write(question: Question, sender: Sender): Uint8Array {
    if (question.kind !== "renew" || !PLAIN_NAME.test(question.to))
      return toBinary(AskRequestSchema, askRequest(question, sender));
    if (this.#last?.sender !== sender || !sameRenewal(this.#last.of, question)) {
      const head = toBinary(AskRequestSchema, askRequest({ ...question, ...NO_END }, sender));
      this.#last = { of: question, sender, head };
    }
    return withEnd(this.#last.head, question);
  }
}

export class AnswerWriter {
  #last: { readonly of: Granted; readonly sender: Sender; readonly head: Uint8Array } | undefined;

  write(reply: Reply | undefined, sender: Sender): Uint8Array {
    if (reply?.kind !== "granted" || !PLAIN_NAME.test(reply.to))
      return toBinary(AskResponseSchema, askResponse(reply, sender));
    if (this.#last?.sender !== sender || !sameGrant(this.#last.of, reply)) {
      const head = toBinary(AskResponseSchema, askResponse({ ...reply, ...NO_END }, sender));
      this.#last = { of: reply, sender, head };
    }
    return withEnd(this.#last.head, reply);
  }
}

function sameRenewal(a: Renew, b: Renew): boolean {
  return a.inSync === b.inSync && sameSpeaker(a, b);
}

function sameGrant(a: Granted, b: Granted): boolean {
  return a.askedBy === b.askedBy && sameSpeaker(a, b);
}

function sameSpeaker(a: Message, b: Message): boolean {
  return a.from === b.from && a.boot === b.boot && a.run === b.run && a.shard === b.shard && a.epoch === b.epoch;
}

/** Byte by byte: a writer for any message would cost more than all the rest. */
function withEnd(head: Uint8Array, { to, seq }: End): Uint8Array {
  const bytes = Buffer.allocUnsafe(head.length + to.length + LONGEST_END);
  bytes.set(head);
  const begin = head.length;
  let at = begin + END_HEAD + bytes.write(to, begin + END_HEAD, "latin1");
  bytes[at] = SEQ;
  at += 1;
  let rest = seq;
  for (; rest >= VARINT; rest = Math.floor(rest / VARINT)) {
    bytes[at] = (rest % VARINT) + VARINT;
    at += 1;
  }
  bytes[at] = rest;
  at += 1;
  bytes[begin] = ENVELOPE;
  bytes[begin + 1] = at - begin - 2;
  bytes[begin + 2] = TO;
  bytes[begin + 3] = to.length;
  return bytes.subarray(0, at);
}

/** Reads what one sender says on one stream: what begins as the last message did is not read again. */
class StreamReader<M extends Message> {
  readonly #parse: (bytes: Uint8Array) => Heard<M>;
  #last: { readonly head: Buffer; readonly envelope: Heard<M>["envelope"]; readonly message: M } | undefined;

  constructor(parse: (bytes: Uint8Array) => Heard<M>) {
    this.#parse = parse;
  }

  /** Throws when it is no message. */
  read(bytes: Uint8Array): Heard<M> {
    const last = this.#last;
    if (last !== undefined && beginsWith(bytes, last.head)) {
      const end = readEnd(bytes, last.head.length);
      if (end !== undefined) return { envelope: last.envelope, message: { ...last.message, ...end } };
    }
    const heard = this.#parse(bytes);
    const { envelope, message } = heard;
    const at = message === undefined ? undefined : endOf(bytes);
    if (message !== undefined && at !== undefined) {
      this.#last = { head: Buffer.from(bytes.subarray(0, at)), envelope, message };
    }
    return heard;
  }
}

export class QuestionReader extends StreamReader<Question> {
  constructor() {
    super((bytes) => {
      const request = fromBinary(AskRequestSchema, bytes);
      return { envelope: request.envelope, message: readQuestion(request) };
    });
  }
}

export class AnswerReader extends StreamReader<Reply> {
  constructor() {
    super((bytes) => {
      const response = fromBinary(AskResponseSchema, bytes);
      return { envelope: response.envelope, message: readReply(response) };
    });
  }
}

function beginsWith(bytes: Uint8Array, head: Buffer): boolean {
  return bytes.length > head.length && head.compare(bytes, 0, head.length) === 0;
}

/** Where the last field begins, if that is an end as `withEnd` writes it. */
function endOf(bytes: Uint8Array): number | undefined {
  const reader = new BinaryReader(bytes);
  let at = 0;
  while (reader.pos < reader.len) {
    at = reader.pos;
    const [field, type] = reader.tag();
    reader.skip(type, field);
  }
  return at > 0 && readEnd(bytes, at) !== undefined ? at : undefined;
}

/** Undefined when it says anything else: then the message has to be read as a whole. */
function readEnd(bytes: Uint8Array, at: number): End | undefined {
  const length = bytes[at + 3] ?? VARINT;
  const name = at + END_HEAD;
  const framed = bytes[at] === ENVELOPE && bytes[at + 1] === bytes.length - at - 2 && bytes[at + 2] === TO;
  if (!framed || bytes.length - at > LONGEST_READ || bytes[name + length] !== SEQ) return undefined;
  const seq = readLastNumber(bytes, name + length + 1);
  if (seq === undefined) return undefined;
  return { to: Buffer.from(bytes.buffer, bytes.byteOffset + name, length).toString(), seq };
}

/** Undefined when it does not end with the bytes. */
function readLastNumber(bytes: Uint8Array, begin: number): number | undefined {
  let value = 0;
  let factor = 1;
  for (let at = begin; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    value += (byte % VARINT) * factor;
    factor *= VARINT;
    if (byte < VARINT) return at === bytes.length - 1 && Number.isSafeInteger(value) ? value : undefined;
  }
  return undefined;
}
