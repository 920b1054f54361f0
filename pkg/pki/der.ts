/**
 * DER, as far as certificates need it to be walked. Strict: whatever is not the one way to write something down is refused,
 * so that nobody else reads another thing out of the same bytes.
 */
import { PkiError } from "./pki-error.ts";

export interface Element {
  readonly tag: number;
  readonly content: Uint8Array;
}

const SHORT = 0x80;
const MULTI_BYTE_TAG = 0x1f;
/** No certificate is as long as what three bytes can count. */
const MOST_LENGTH_BYTES = 3;
const BYTE = 256;

/** The elements that stand one after the other in these bytes, which hold nothing else. */
export function elementsOf(bytes: Uint8Array): readonly Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = byteAt(bytes, at);
    if ((tag & MULTI_BYTE_TAG) === MULTI_BYTE_TAG) throw new PkiError(`an element has a tag of several bytes`);
    const { length, begin } = lengthAt(bytes, at + 1);
    const end = begin + length;
    if (end > bytes.length) throw new PkiError("an element is longer than what holds it");
    elements.push({ tag, content: bytes.subarray(begin, end) });
    at = end;
  }
  return elements;
}

/** The only element in these bytes, which must have this tag. */
export function onlyElement(bytes: Uint8Array, tag: number, what: string): Uint8Array {
  const [element, ...more] = elementsOf(bytes);
  if (element?.tag === tag && more.length === 0) return element.content;
  throw new PkiError(`${what} is not what it should be`);
}

function lengthAt(bytes: Uint8Array, at: number): { readonly length: number; readonly begin: number } {
  const first = byteAt(bytes, at);
  if (first < SHORT) return { length: first, begin: at + 1 };
  const count = first - SHORT;
  if (count === 0 || count > MOST_LENGTH_BYTES) throw new PkiError("an element has a length that DER does not know");
  const begin = at + 1 + count;
  let length = 0;
  for (let index = at + 1; index < begin; index += 1) length = length * BYTE + byteAt(bytes, index);
  if (length < SHORT || byteAt(bytes, at + 1) === 0) throw new PkiError("an element's length is written too long");
  return { length, begin };
}

function byteAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new PkiError("an element is cut off");
  return byte;
}
