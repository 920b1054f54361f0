/**
 * The beginning of a snapshot (dump.rdb): magic, version, then fields about the data before the data itself. Only the
 * first kilobytes are read, however large the file is. Nothing in it is trusted: a length beyond what was read ends it.
 */
import { open } from "node:fs/promises";

export interface RdbHeader {
  /** Of the format: 11 for 8.1, 80 for 9.1. */
  readonly formatVersion: number;
  /** `valkey-ver`, `ctime`, `repl-id`, `repl-offset`… as they stand there. */
  readonly fields: ReadonlyMap<string, string>;
  /** How far the data is in the stream of writes `replicationId`; undefined when the server kept no stream. */
  readonly replicationOffset: bigint | undefined;
  readonly replicationId: string | undefined;
  /** Whether the snapshot holds neither keys nor functions. */
  readonly empty: boolean;
}

const HEADER_BYTES = 16_384;
const OPCODE_AUX = 0xfa;
const OPCODE_EOF = 0xff;

/** Undefined when there is no such file. Throws when it is no snapshot, or ends within its header. */
export async function readRdbHeader(path: string): Promise<RdbHeader | undefined> {
  const file = await open(path, "r").catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    return parseRdbHeader(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

export function parseRdbHeader(bytes: Uint8Array): RdbHeader {
  const magic = Buffer.from(bytes.subarray(0, 9)).toString("latin1");
  const version = /^(?:REDIS|VALKEY)(?<version>\d{3,4})$/u.exec(magic)?.groups?.["version"];
  if (version === undefined) throw new Error("the file does not begin like a snapshot of Valkey");
  const reader = new Reader(bytes, 9);
  const fields = new Map<string, string>();
  let opcode = reader.byte();
  for (; opcode === OPCODE_AUX; opcode = reader.byte()) fields.set(reader.text(), reader.text());
  const offset = fields.get("repl-offset");
  return {
    formatVersion: Number(version),
    fields,
    replicationOffset: offset !== undefined && /^\d{1,20}$/u.test(offset) ? BigInt(offset) : undefined,
    replicationId: fields.get("repl-id"),
    empty: opcode === OPCODE_EOF,
  };
}

class Reader {
  readonly #view: DataView;
  #at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#at = at;
  }

  byte(): number {
    return this.#view.getUint8(this.#take(1));
  }

  /** Numbers among the fields are stored as such to save space. */
  text(): string {
    const first = this.#view.getUint8(this.#take(1));
    if (first >> 6 === 3) return this.#special(first & 0x3f);
    this.#at--;
    return this.#chars(this.#length());
  }

  #special(encoding: number): string {
    if (encoding === 0) return String(this.#view.getInt8(this.#take(1)));
    if (encoding === 1) return String(this.#view.getInt16(this.#take(2), true));
    if (encoding === 2) return String(this.#view.getInt32(this.#take(4), true));
    if (encoding === 3) return this.#skipCompressed();
    throw new Error("a field in the snapshot's header is stored in a way that no version knows");
  }

  /** The server compresses longer texts where that saves space; none that we read gets shorter by it. */
  #skipCompressed(): string {
    const length = this.#length();
    this.#length();
    this.#take(length);
    return "";
  }

  #length(): number {
    const first = this.byte();
    const kind = first >> 6;
    if (kind === 0) return first & 0x3f;
    if (kind === 1) return ((first & 0x3f) << 8) | this.byte();
    if (first === 0x80) return this.#view.getUint32(this.#take(4));
    throw new Error("a length in the snapshot's header is none");
  }

  #chars(length: number): string {
    const at = this.#take(length);
    return Buffer.from(this.#view.buffer, this.#view.byteOffset + at, length).toString("utf8");
  }

  #take(length: number): number {
    const at = this.#at;
    if (at + length > this.#view.byteLength) throw new Error("the snapshot's header is cut short");
    this.#at = at + length;
    return at;
  }
}
