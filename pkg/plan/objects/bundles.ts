/** The intermediates of a cluster: one between operator and agents, and one towards clients if we make those certificates. */

import type { ValkeyClusterTlsSpec } from "../../api/cluster-tls.ts";
import { API_VERSION } from "../../api/kind.ts";
import { metaOf, type Owner, objectOf } from "./meta.ts";
import { bundleName, bundleSecretName, ROOT_CA_NAME } from "./names.ts";
import type { DesiredObject } from "./types.ts";

export function bundlesOf(owner: Owner, tls: ValkeyClusterTlsSpec | undefined): DesiredObject[] {
  const makesOwn = tls !== undefined && tls.externalCerts === undefined;
  return [bundle(owner, "mtls"), ...(makesOwn ? [bundle(owner, "tls")] : [])];
}

function bundle(owner: Owner, purpose: "mtls" | "tls"): DesiredObject {
  const { name } = owner.cluster;
  const secret = bundleSecretName(name, purpose);
  return objectOf(
    { apiVersion: API_VERSION, kind: "ValkeyCertificateBundle" },
    metaOf(owner, { name: bundleName(name, purpose) }),
    { spec: { caRef: ROOT_CA_NAME, purpose, certSecretRef: secret, keySecretRef: secret } },
  );
}
