/**
 * Verifies a chain in process, by the rules that OpenSSL applies in a handshake: for Secrets that a user gave us, and
 * before a new certificate is put to use. The handshakes themselves are verified by the TLS stack.
 */
import { id_ce_nameConstraints } from "@peculiar/asn1-x509";
import { viewOf } from "./certificate-view.ts";
import { type Constraints, parseNameConstraints } from "./constraints.ts";
import type { Usage } from "./issue.ts";
import { nameViolation } from "./name-match.ts";
import { thumbprint } from "./pem.ts";
import { reasonOf } from "./pki-error.ts";
import { alternativeNames } from "./san.ts";
import { outOfScope } from "./scope.ts";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  type X509Certificate,
} from "./x509.ts";

export interface VerifyRequest {
  readonly leaf: X509Certificate;
  readonly intermediates?: readonly X509Certificate[];
  readonly roots: readonly X509Certificate[];
  readonly now: Date;
  /** What the leaf must be good for; without it, anything. */
  readonly usage?: Usage;
}

export type Verdict =
  | { readonly ok: true; readonly chain: readonly X509Certificate[] }
  | { readonly ok: false; readonly reason: string };

const LONGEST_CHAIN = 5;
const PURPOSES = { server: ExtendedKeyUsage.serverAuth, client: ExtendedKeyUsage.clientAuth } as const;
/** Basic constraints, key usage, extended key usage, alternative names, name constraints. */
const UNDERSTOOD = new Set(["2.5.29.19", "2.5.29.15", "2.5.29.37", "2.5.29.17", id_ce_nameConstraints]);

/** Leaf first, root last. Of the problems of several possible chains the last one found is told. */
export async function verifyChain(request: VerifyRequest): Promise<Verdict> {
  try {
    const wrong = leafProblem(request.leaf, request.usage);
    if (wrong !== undefined) return { ok: false, reason: `${nameOf(request.leaf)} ${wrong}` };
    return await extend([request.leaf], request);
  } catch (error) {
    return { ok: false, reason: `the chain of ${nameOf(request.leaf)} cannot be read: ${reasonOf(error)}` };
  }
}

/** Tries every issuer that fits: during a rotation two authorities may bear one name. */
async function extend(chain: readonly X509Certificate[], request: VerifyRequest): Promise<Verdict> {
  const last = chain.at(-1);
  if (last === undefined || chain.length > LONGEST_CHAIN) return { ok: false, reason: "the chain is too long" };
  let verdict: Verdict = { ok: false, reason: `nobody we trust signed ${nameOf(last)} (issuer ${last.issuer})` };
  for (const { issuer, trusted } of await issuersOf(last, chain, request)) {
    const longer = [...chain, issuer];
    verdict = trusted ? judge(longer, request.now) : await extend(longer, request);
    if (verdict.ok) return verdict;
  }
  return verdict;
}

async function issuersOf(certificate: X509Certificate, chain: readonly X509Certificate[], request: VerifyRequest) {
  const seen = new Set(chain.map(thumbprint));
  const candidates = [
    ...request.roots.map((issuer) => ({ issuer, trusted: true })),
    ...(request.intermediates ?? []).map((issuer) => ({ issuer, trusted: false })),
  ].filter(({ issuer }) => issuer.subject === certificate.issuer && !seen.has(thumbprint(issuer)));
  const signed = await Promise.all(
    candidates.map(({ issuer }) => certificate.verify({ publicKey: issuer.publicKey, signatureOnly: true })),
  );
  return candidates.filter((_, index) => signed[index]);
}

function judge(chain: readonly X509Certificate[], now: Date): Verdict {
  for (const [index, certificate] of chain.entries()) {
    const wrong =
      timeProblem(certificate, now) ??
      strangeExtension(certificate) ??
      (index === 0 ? undefined : authorityProblem(certificate, index - 1)) ??
      constraintProblem(certificate, chain.slice(0, index)) ??
      (index === 0 ? undefined : scopeProblem(certificate, chain[0]));
    if (wrong !== undefined) return { ok: false, reason: `${nameOf(certificate)} ${wrong}` };
  }
  return { ok: true, chain };
}

function leafProblem(leaf: X509Certificate, usage: Usage | undefined): string | undefined {
  if (usage === undefined) return undefined;
  const extension = leaf.getExtension(ExtendedKeyUsageExtension);
  const good = extension === null || extension.usages.includes(PURPOSES[usage]);
  return good ? undefined : `is not made for use as a ${usage}`;
}

function timeProblem({ notBefore, notAfter }: X509Certificate, now: Date): string | undefined {
  if (now < notBefore) return `is valid only from ${notBefore.toISOString()}`;
  // As OpenSSL counts: the last second is already over.
  if (now >= notAfter) return `expired at ${notAfter.toISOString()}`;
  return undefined;
}

function strangeExtension({ extensions }: X509Certificate): string | undefined {
  const strange = extensions.find(({ critical, type }) => critical && !UNDERSTOOD.has(type));
  return strange === undefined ? undefined : `holds the critical extension ${strange.type}, which we do not know`;
}

/** `below`: how many authorities stand between it and the leaf. */
function authorityProblem(certificate: X509Certificate, below: number): string | undefined {
  const basic = certificate.getExtension(BasicConstraintsExtension);
  if (basic?.ca !== true) return "is no certificate authority";
  const usage = certificate.getExtension(KeyUsagesExtension);
  if (usage !== null && (usage.usages & KeyUsageFlags.keyCertSign) === 0) return "may not sign certificates";
  if (basic.pathLength !== undefined && below > basic.pathLength) {
    return `may have ${basic.pathLength} authorities below it, here are ${below}`;
  }
  return undefined;
}

function constraintProblem(authority: X509Certificate, below: readonly X509Certificate[]): string | undefined {
  const extension = authority.getExtension(id_ce_nameConstraints);
  if (extension === null) return undefined;
  const constraints: Required<Constraints> = parseNameConstraints(extension.value);
  const violations = below.flatMap((certificate) => nameViolation(alternativeNames(certificate), constraints) ?? []);
  return violations.length === 0 ? undefined : `does not permit ${violations.join(", ")}`;
}

function scopeProblem(authority: X509Certificate, leaf: X509Certificate | undefined): string | undefined {
  const [above, below] = [authority, leaf].map((one) => one && viewOf(new Uint8Array(one.rawData)));
  const uri = above === undefined || below === undefined ? undefined : outOfScope(above, below);
  return uri === undefined ? undefined : `may not speak for ${JSON.stringify(uri)}`;
}

function nameOf(certificate: X509Certificate): string {
  return `certificate ${JSON.stringify(certificate.subject)}`;
}
