/**
 * Which version of the protocol a call is in. The caller names the versions it speaks (`1` or `1-2`) with every call, the
 * server takes the newest that both speak and names it in the answer: nothing is remembered, so either side may be
 * replaced by another release between two calls.
 */
import { PROTOCOL } from "../version/version.ts";

export const PROTOCOL_HEADER = "valkey-protocol";

export interface ProtocolRange {
  readonly min: number;
  readonly max: number;
}

export type Negotiation =
  | { readonly ok: true; readonly version: number }
  | { readonly ok: false; readonly reason: string };

export function formatRange({ min, max }: ProtocolRange): string {
  return min === max ? String(max) : `${min}-${max}`;
}

export function negotiate(header: string | null, own: ProtocolRange = PROTOCOL): Negotiation {
  const speak = `this side speaks protocol ${formatRange(own)}`;
  if (header === null) return { ok: false, reason: `the call has no header ${PROTOCOL_HEADER}; ${speak}` };
  const theirs = parseRange(header);
  if (theirs === undefined) {
    const shown = JSON.stringify(header.slice(0, 40));
    return { ok: false, reason: `the header ${PROTOCOL_HEADER} holds ${shown}, which names no version; ${speak}` };
  }
  const version = Math.min(own.max, theirs.max);
  if (version < Math.max(own.min, theirs.min)) {
    const older = theirs.max < own.min ? "the caller is too old" : "the caller is too new";
    return {
      ok: false,
      reason: `the caller speaks protocol ${formatRange(theirs)}, ${speak}: ${older}, upgrade the older of the two`,
    };
  }
  return { ok: true, version };
}

function parseRange(text: string): ProtocolRange | undefined {
  const match = /^([0-9]{1,6})(?:-([0-9]{1,6}))?$/.exec(text);
  if (match === null) return undefined;
  const min = Number(match[1]);
  const max = Number(match[2] ?? match[1]);
  return min >= 1 && min <= max ? { min, max } : undefined;
}
