/** Certificates as decisions see them: by thumbprints and times, never by their text. */

export interface Held {
  /** SHA-256, in lower-case hex. */
  readonly thumbprint: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The certificate that signed it, as far as it is beside it; an intermediate's is its root. */
  readonly issuer: string | undefined;
  /** The root at the end of its chain, as far as that is beside it. */
  readonly root: string | undefined;
  /** The roots that whoever uses it trusts. */
  readonly trusts: readonly string[];
  /** Names what it was made for: another one means that something else is wanted now. */
  readonly request: string;
  /** Grows with every change of certificate or trust. */
  readonly sequence: number;
  /** When its root or the roots that it trusts last became others: renewals under the same root do not count. */
  readonly trustSince: Date;
}

/** What a Secret holds. */
export type CertificateView =
  | { readonly found: "nothing" }
  | { readonly found: "unusable"; readonly why: string }
  | ({ readonly found: "certificate" } & Held);

/** A root that signs, and all that are trusted beside it. */
export interface Authority {
  /** The one that signs. */
  readonly root: string;
  readonly notAfter: Date;
  /** Trusted and not signing yet: the next one. */
  readonly next: string | undefined;
  /** All that are to be trusted, the signing one included. */
  readonly trusted: readonly string[];
}

export type AuthorityView = { readonly ready: false; readonly why: string } | ({ readonly ready: true } & Authority);

/** Texts for holds: at most a few names, so that a status stays readable with a thousand nodes. */
export function someOf(names: readonly string[], most = 3): string {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown} and ${names.length - most} more` : shown;
}

export function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const set = new Set(b);
  return new Set(a).size === set.size && a.every((each) => set.has(each));
}
