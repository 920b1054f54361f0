/** What every installation begins with: the root authority and the place for defaults, in the operator's namespace. */
import { DEFAULTS_NAME } from "../../api/cluster-defaults.ts";
import { API_VERSION, OWNED_BY, OWNED_LABEL } from "../../api/kind.ts";
import { ROOT_CA_NAME } from "../../plan/objects/names.ts";

export { ROOT_CA_NAME } from "../../plan/objects/names.ts";

const labels = { "app.kubernetes.io/name": OWNED_BY, "app.kubernetes.io/part-of": OWNED_BY, [OWNED_LABEL]: OWNED_BY };

export function firstDefaults(namespace: string) {
  const metadata = { name: DEFAULTS_NAME, namespace, labels };
  return { apiVersion: API_VERSION, kind: "ValkeyClusterDefaults", metadata, spec: {} };
}

export function firstCA(namespace: string) {
  const metadata = { name: ROOT_CA_NAME, namespace, labels };
  const spec = { description: "Root CA of the Valkey operator", caCertSecretRef: `${ROOT_CA_NAME}-cert` };
  return { apiVersion: API_VERSION, kind: "ValkeyCA", metadata, spec };
}
