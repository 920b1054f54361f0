/** Valkey's wire format (RESP2), read piece by piece as it comes off a socket. */

/** An error that the server answered. `code` is its first word, such as MOVED or READONLY. */
export class ReplyError extends Error {
  override readonly name = "ReplyError";
  get code(): string {
    return this.message.split(" ", 1)[0] ?? "";
  }
}

export type Reply = string | number | null | ReplyError | readonly Reply[];

const CR = 13;
const PLUS = 43;
const MINUS = 45;
const COLON = 58;
const DOLLAR = 36;
const STAR = 42;
const ZERO = 48;
/** No answer that we ask for comes near it; a peer that sends more is not what we think it is. */
const LONGEST_REPLY = 64 * 1024 * 1024;
const DEEPEST_REPLY = 16;

/** Thrown while a reply is not wholly there yet; never leaves this file. */
const INCOMPLETE = new Error("incomplete");

export class ReplyParser {
  #buffer: Buffer = Buffer.alloc(0);
  #at = 0;

  /** Takes a piece and returns every reply that is whole now. Throws when the peer does not speak RESP2. */
  push(piece: Uint8Array): Reply[] {
    this.#buffer = this.#buffer.length === 0 ? Buffer.from(piece) : Buffer.concat([this.#buffer, piece]);
    const replies: Reply[] = [];
    let whole = 0;
    try {
      for (; this.#at < this.#buffer.length; whole = this.#at) replies.push(this.#reply(0));
    } catch (error) {
      if (error !== INCOMPLETE) throw error;
    }
    this.#buffer = this.#buffer.subarray(whole);
    this.#at = 0;
    if (this.#buffer.length > LONGEST_REPLY) throw new Error(`a reply of more than ${LONGEST_REPLY} bytes`);
    return replies;
  }

  #reply(depth: number): Reply {
    if (depth > DEEPEST_REPLY) throw new Error("not a RESP2 reply: arrays are nested too deeply");
    const type = this.#buffer[this.#at] ?? 0;
    switch (type) {
      case PLUS:
        return this.#line().slice(1);
      case MINUS:
        return new ReplyError(this.#line().slice(1));
      case COLON:
        return this.#integer();
      case DOLLAR:
        return this.#bulk(this.#integer());
      case STAR:
        return this.#array(this.#integer(), depth);
      default:
        throw notResp(this.#line());
    }
  }

  #line(): string {
    const end = this.#lineEnd();
    const line = this.#buffer.toString("utf8", this.#at, end);
    this.#at = end + 2;
    return line;
  }

  #lineEnd(): number {
    const end = this.#buffer.indexOf(CR, this.#at);
    if (end === -1 || end + 1 >= this.#buffer.length) throw INCOMPLETE;
    return end;
  }

  /** Digit by digit: an answer of many parts has hundreds of lengths, and a text for each would cost more. */
  #integer(): number {
    const buffer = this.#buffer;
    const end = this.#lineEnd();
    const negative = buffer[this.#at + 1] === MINUS;
    const begin = this.#at + (negative ? 2 : 1);
    if (begin === end) throw notResp(this.#line());
    let value = 0;
    for (let at = begin; at < end; at += 1) {
      const digit = (buffer[at] ?? 0) - ZERO;
      if (digit < 0 || digit > 9) throw notResp(this.#line());
      value = value * 10 + digit;
    }
    this.#at = end + 2;
    return negative ? 0 - value : value;
  }

  #bulk(length: number): string | null {
    if (length < 0) return null;
    const end = this.#at + length;
    if (end + 2 > this.#buffer.length) throw INCOMPLETE;
    const text = this.#buffer.toString("utf8", this.#at, end);
    this.#at = end + 2;
    return text;
  }

  #array(length: number, depth: number): readonly Reply[] | null {
    if (length < 0) return null;
    const items: Reply[] = [];
    while (items.length < length) items.push(this.#reply(depth + 1));
    return items;
  }
}

function notResp(line: string): Error {
  return new Error(`not a RESP2 reply: ${JSON.stringify(line.slice(0, 80))}`);
}

/** A command as the server wants it: an array of bulk strings. */
export function encodeCommand(args: readonly string[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`).join("")}`;
}
