/** The Secrets of roots that the operator makes: what they look like, and what each step of a rotation writes. */
import type { ValkeyCA } from "../../api/ca.ts";
import { OWNED_BY, OWNED_LABEL } from "../../api/kind.ts";
import type { NewBody } from "../../kube/client.ts";
import { createRoot, encodeCertificates, encodeKey, PkiError } from "../../pki/pki.ts";
import {
  CERTIFICATE,
  KEY,
  MADE_FOR,
  NEXT_CERTIFICATE,
  NEXT_KEY,
  NEXT_SINCE,
  ROTATE,
  type RootFiles,
  SIGNS_SINCE,
  TRUSTED,
} from "./root-part.ts";
import { namesOf } from "./roots.ts";

const DAY_MS = 86_400_000;

/** PEM texts of a root. */
export interface RootTexts {
  readonly certificate: string;
  readonly key: string;
}

export async function newRoot(ca: ValkeyCA, now: Date): Promise<RootTexts> {
  const name = `${ca.metadata.namespace ?? ""}/${ca.metadata.name} root`;
  const root = await createRoot({ name, now, lifetimeMs: (ca.spec.validForDays ?? 3650) * DAY_MS });
  return { certificate: encodeCertificates([root.certificate]), key: await encodeKey(root.keys.privateKey) };
}

/**
 * One Secret, or two when the key has a place of its own; the key comes first, so that a certificate is never there
 * without it. Without an owner reference: were the ValkeyCA deleted by mistake, everything the root has signed would
 * lose its trust with it.
 */
export function newRootSecrets(ca: ValkeyCA, root: RootTexts): readonly NewBody[] {
  const [certificateName, keyName] = namesOf(ca);
  const certificate = { [CERTIFICATE]: root.certificate, [TRUSTED]: root.certificate };
  if (certificateName === keyName) {
    return [body(ca, certificateName, "kubernetes.io/tls", { ...certificate, [KEY]: root.key })];
  }
  return [body(ca, keyName, "Opaque", { [KEY]: root.key }), body(ca, certificateName, "Opaque", certificate)];
}

function body(ca: ValkeyCA, name: string, type: string, files: RootFiles): NewBody {
  const { namespace } = ca.metadata;
  const rotate = ca.metadata.annotations?.[ROTATE];
  const annotations = { [MADE_FOR]: ca.metadata.name, ...(rotate === undefined ? {} : { [ROTATE]: rotate }) };
  return {
    type,
    metadata: { name, namespace, labels: { [OWNED_LABEL]: OWNED_BY }, annotations },
    data: encoded(files),
  };
}

/** What a step writes into each of the two places; null takes a file or a note away. */
export interface RootChange {
  readonly certificate: { readonly files: Changes; readonly notes: Changes };
  readonly key: { readonly files: Changes };
}

type Changes = Readonly<Record<string, string | null>>;

/** The next root is trusted from now on and signs nothing; the wish that led to it counts as met. */
export function addNext(files: RootFiles, next: RootTexts, wish: string | undefined, now: Date): RootChange {
  const trusted = unique([files[CERTIFICATE], files[TRUSTED], next.certificate]);
  return {
    certificate: {
      files: { [NEXT_CERTIFICATE]: next.certificate, [TRUSTED]: trusted },
      notes: { [NEXT_SINCE]: now.toISOString(), ...(wish === undefined ? {} : { [ROTATE]: wish }) },
    },
    key: { files: { [NEXT_KEY]: next.key } },
  };
}

/** The next root takes the place of the old one, whose key is thrown away; its certificate stays in ca.crt. */
export function changeToNext(files: RootFiles, keys: RootFiles, now: Date): RootChange {
  const next = files[NEXT_CERTIFICATE];
  // A writer that was cut off has put the key into its place already.
  const key = keys[NEXT_KEY] ?? keys[KEY];
  if (next === undefined || key === undefined) throw new PkiError("there is no next root to change to");
  return {
    certificate: {
      files: {
        [CERTIFICATE]: next,
        [NEXT_CERTIFICATE]: null,
        [TRUSTED]: unique([next, files[TRUSTED], files[CERTIFICATE]]),
      },
      notes: { [NEXT_SINCE]: null, [SIGNS_SINCE]: now.toISOString() },
    },
    key: { files: { [KEY]: key, [NEXT_KEY]: null } },
  };
}

/** Nothing but the root that signs is trusted. */
export function dropOld(files: RootFiles): RootChange {
  return { certificate: { files: { [TRUSTED]: files[CERTIFICATE] ?? null }, notes: {} }, key: { files: {} } };
}

/** Whole certificates in their order, once each. */
function unique(texts: readonly (string | undefined)[]): string {
  const blocks = texts.flatMap(
    (text) => text?.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [],
  );
  return [...new Set(blocks.map((block) => `${block}\n`))].join("");
}

export function encoded(files: Changes): Record<string, string | null> {
  const entries = Object.entries(files);
  return Object.fromEntries(
    entries.map(([name, text]) => [name, text === null ? null : Buffer.from(text).toString("base64")]),
  );
}
