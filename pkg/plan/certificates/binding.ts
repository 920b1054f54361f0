/** What a ValkeyCertificateBinding says: which certificates a deployment uses, and which it has just stopped using. */
import type { ValkeyCertificateBindingSpec } from "../../api/certificate-binding.ts";
import type { Held } from "./view.ts";

type Active = NonNullable<ValkeyCertificateBindingSpec["active"]>[number];
type Deprecated = NonNullable<ValkeyCertificateBindingSpec["deprecated"]>[number];

export type Life = Pick<Held, "thumbprint" | "notBefore" | "notAfter">;

export interface InUse {
  readonly purpose: Active["purpose"];
  readonly held: Life;
  /** Undefined when somebody else issued it. */
  readonly bundle: string | undefined;
  readonly secret: string;
  /** Whether every process is known to use it, so that the ones before it are in use no more. */
  readonly settled: boolean;
}

/** A status that lists every certificate of a year tells nobody anything. */
const MOST_DEPRECATED = 16;

export function bindingSpec(
  cluster: string,
  before: ValkeyCertificateBindingSpec | undefined,
  inUse: readonly InUse[],
  now: Date,
): ValkeyCertificateBindingSpec {
  const active = inUse.map(activeOf);
  const thumbprints = new Set(active.map(({ thumbprint }) => thumbprint));
  const settled = new Set(inUse.filter((each) => each.settled).map(({ purpose }) => purpose));
  const candidates: Deprecated[] = [...(before?.active ?? []).map(deprecatedOf), ...(before?.deprecated ?? [])];
  const deprecated = candidates.filter(
    ({ purpose, thumbprint, expiresAt }) =>
      !settled.has(purpose) && !thumbprints.has(thumbprint) && new Date(expiresAt) > now,
  );
  return { clusterRef: cluster, active, deprecated: deprecated.slice(0, MOST_DEPRECATED) };
}

function activeOf({ purpose, held, bundle, secret }: InUse): Active {
  return { ...lifeOf(purpose, held), ...bundleRefOf(bundle), secretName: secret, active: true };
}

/** As it was told before, for when nothing newer can be told. */
export function inUseBefore({ purpose, thumbprint, issuedAt, expiresAt, bundleRef, secretName }: Active): InUse {
  const held = { thumbprint, notBefore: new Date(issuedAt), notAfter: new Date(expiresAt) };
  return { purpose, held, bundle: bundleRef, secret: secretName, settled: false };
}

function bundleRefOf(bundle: string | undefined) {
  return bundle === undefined ? {} : { bundleRef: bundle };
}

function lifeOf(purpose: Active["purpose"], { thumbprint, notBefore, notAfter }: Life) {
  return { purpose, thumbprint, issuedAt: notBefore.toISOString(), expiresAt: notAfter.toISOString() };
}

function deprecatedOf({ purpose, thumbprint, issuedAt, expiresAt, bundleRef, secretName }: Active): Deprecated {
  return { purpose, thumbprint, issuedAt, expiresAt, ...bundleRefOf(bundleRef), secretName };
}
