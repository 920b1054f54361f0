/** Issues leaves side by side under the intermediate of a bundle, and changes whom their users trust. */
import type { ValkeyCA } from "../../api/ca.ts";
import type { ValkeyCertificateBundle } from "../../api/certificate-bundle.ts";
import type { ActContext } from "../../kube/controller.ts";
import type { ObjectRef, OwnerReference } from "../../kube/resource.ts";
import {
  type Credential,
  decodeCertificate,
  decodeKeys,
  encodeCertificates,
  encodeKey,
  issueLeaf,
  PkiError,
  readCertificates,
  thumbprint,
} from "../../pki/pki.ts";
import type { LeafWish } from "../../plan/certificates/requests.ts";
import { sameSet } from "../../plan/certificates/view.ts";
import type { Roots } from "../ca/roots.ts";
import {
  CERTIFICATE_FILE,
  CERTIFICATE_SECRETS,
  type CertificateKind,
  dataOf,
  KEY_FILE,
  ROOTS_FILE,
  requestHash,
  SEQUENCE_FILE,
  type SecretData,
  sequenceOf,
  TRUST_SINCE_ANNOTATION,
  textOf,
  WHOLE_SECRETS,
  type WholeSecret,
} from "./certificate-secret.ts";
import { readOwn, type SecretWriterDeps, writeSecret } from "./secret-writer.ts";
import { sideBySide } from "./side-by-side.ts";

export interface LeafTarget {
  readonly name: string;
  readonly ref: Required<ObjectRef>;
  readonly kind: CertificateKind;
  readonly wish: LeafWish;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly owner: OwnerReference;
}

export interface LeafIssuerDeps extends SecretWriterDeps {
  readonly roots: Roots;
}

export interface LeafJob {
  readonly ca: ValkeyCA;
  readonly targets: readonly LeafTarget[];
  /** Thumbprints of those to trust. */
  readonly trust: readonly string[];
  /** Called after each was written. */
  readonly written: (target: LeafTarget, data: SecretData) => Promise<void>;
}

export interface IssueJob extends LeafJob {
  readonly bundle: ValkeyCertificateBundle;
  /** The intermediate that was decided on; with another one everything is decided anew. */
  readonly intermediate: string;
}

export async function issueLeaves(deps: LeafIssuerDeps, job: IssueJob, context: ActContext): Promise<void> {
  const issuer = await intermediateFor(deps, job.bundle, context.signal);
  if (thumbprint(issuer.certificate) !== job.intermediate) return;
  await sideBySide(job.targets, async (target) => {
    const there = await readOwn(deps, target.ref, target.owner, context.signal);
    const made = await issueLeaf(issuer, { ...target.wish, now: new Date() });
    const certificate = {
      [CERTIFICATE_FILE]: dataOf(encodeCertificates([made.certificate, issuer.certificate])),
      [KEY_FILE]: dataOf(await encodeKey(made.keys.privateKey)),
    };
    await write(deps, { job, target, there, certificate }, context);
  });
}

/** The certificates stay as they are. */
export async function changeTrust(deps: LeafIssuerDeps, job: LeafJob, context: ActContext): Promise<void> {
  await sideBySide(job.targets, async (target) => {
    const there = await readOwn(deps, target.ref, target.owner, context.signal);
    const { [CERTIFICATE_FILE]: certificate, [KEY_FILE]: key } = there?.data ?? {};
    // Gone or broken meanwhile: the next look issues it anew.
    if (certificate === undefined || key === undefined) return;
    await write(
      deps,
      { job, target, there, certificate: { [CERTIFICATE_FILE]: certificate, [KEY_FILE]: key } },
      context,
    );
  });
}

interface Writing {
  readonly job: LeafJob;
  readonly target: LeafTarget;
  readonly there: WholeSecret | undefined;
  readonly certificate: SecretData;
}

async function write(deps: LeafIssuerDeps, { job, target, there, certificate }: Writing, context: ActContext) {
  const data = {
    ...certificate,
    [ROOTS_FILE]: dataOf(trustTexts(deps, job, there)),
    [SEQUENCE_FILE]: dataOf(String(Math.max(sequenceOf(there?.data ?? {}) + 1, Date.now()))),
  };
  const { ref, kind, labels, owner } = target;
  const request = requestHash(target.wish);
  const annotations = { ...target.annotations, [TRUST_SINCE_ANNOTATION]: trustSince(there, data).toISOString() };
  await writeSecret(deps, { ref, kind, request, labels, annotations, owner, data }, there, context);
  await job.written(target, data);
}

function trustSince(there: WholeSecret | undefined, data: SecretData): Date {
  const before = there === undefined ? undefined : CERTIFICATE_SECRETS.parse(there).certificate;
  const after = CERTIFICATE_SECRETS.parse({ metadata: { name: "" }, data }).certificate;
  if (before?.found !== "certificate" || after?.found !== "certificate") return new Date();
  const same = before.root === after.root && sameSet(before.trusts, after.trusts);
  return same ? before.trustSince : new Date();
}

/** Roots that the authority does not know any more are kept from what is there. */
function trustTexts(deps: LeafIssuerDeps, { ca, trust }: LeafJob, there: WholeSecret | undefined): string {
  const own = textOf(there?.data[ROOTS_FILE]);
  const known = [...deps.roots.trusted(ca), ...(own === "" ? [] : readable(own))];
  const texts = new Map(known.map((each) => [each.thumbprint, each.pem]));
  return trust.flatMap((each) => texts.get(each) ?? []).join("");
}

/** Somebody's edit must not keep the repair from happening. */
function readable(pem: string): ReturnType<typeof readCertificates> {
  try {
    return readCertificates(pem, ROOTS_FILE);
  } catch {
    return [];
  }
}

/** With its key, read for this moment. */
async function intermediateFor(
  { client }: SecretWriterDeps,
  { metadata, spec }: ValkeyCertificateBundle,
  signal: AbortSignal,
): Promise<Credential> {
  const { namespace } = metadata;
  const [certificate, key] = await Promise.all([
    client.find(WHOLE_SECRETS, { namespace, name: spec.certSecretRef }, { signal }),
    client.find(WHOLE_SECRETS, { namespace, name: spec.keySecretRef }, { signal }),
  ]);
  const [crt, pem] = [certificate?.data[CERTIFICATE_FILE], key?.data[KEY_FILE]];
  if (crt === undefined || pem === undefined) {
    throw new PkiError(`the intermediate of ValkeyCertificateBundle ${metadata.name} is gone: it is issued anew`);
  }
  const what = (file: string) => `${file} of ValkeyCertificateBundle ${metadata.name}`;
  return {
    certificate: decodeCertificate(textOf(crt), what(CERTIFICATE_FILE)),
    keys: await decodeKeys(textOf(pem), what(KEY_FILE)),
  };
}
