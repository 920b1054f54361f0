/** Messages on a stream that stays open: each with its length and the number of the question it belongs to. */

const HEAD_BYTES = 8;

export interface Frame {
  /** Of the question; its answer repeats it. */
  readonly id: number;
  readonly body: Uint8Array;
}

export function encodeFrame({ id, body }: Frame): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES + body.length);
  const head = new DataView(bytes.buffer);
  head.setUint32(0, body.length);
  head.setUint32(4, id);
  bytes.set(body, HEAD_BYTES);
  return bytes;
}

/** Puts together what the network takes apart. Throws when a message is announced that is longer than allowed. */
export class FrameReader {
  readonly #limit: number;
  #rest: Uint8Array = new Uint8Array();

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(piece: Uint8Array): readonly Frame[] {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const frames: Frame[] = [];
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const length = view.getUint32(at);
      if (length > this.#limit) throw new RangeError(`a message of ${length} bytes is longer than ${this.#limit}`);
      if (bytes.length - at - HEAD_BYTES < length) break;
      const begin = at + HEAD_BYTES;
      frames.push({ id: view.getUint32(at + 4), body: bytes.subarray(begin, begin + length) });
      at = begin + length;
    }
    this.#rest = bytes.slice(at);
    return frames;
  }
}
