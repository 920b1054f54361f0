/** The operator's own intermediate, from which its identity comes. */
import { API_VERSION, OWNED_BY, OWNED_LABEL } from "../../api/kind.ts";
import { OPERATOR_IDENTITY_SECRET, ROOT_CA_NAME } from "../../plan/objects/names.ts";

/** A bundle of this name in the operator's namespace speaks for the operator, and no other does. */
export const OPERATOR_BUNDLE = "valkey-operator";

export const OPERATOR_LABELS = {
  "app.kubernetes.io/name": OWNED_BY,
  "app.kubernetes.io/part-of": OWNED_BY,
  [OWNED_LABEL]: OWNED_BY,
};

export function operatorBundle(namespace: string) {
  const secret = `${OPERATOR_BUNDLE}-mtls-ca`;
  return {
    apiVersion: API_VERSION,
    kind: "ValkeyCertificateBundle",
    metadata: { name: OPERATOR_BUNDLE, namespace, labels: OPERATOR_LABELS },
    spec: { caRef: ROOT_CA_NAME, purpose: "mtls", certSecretRef: secret, keySecretRef: secret },
  };
}

export function operatorSecretRef(namespace: string) {
  return { namespace, name: OPERATOR_IDENTITY_SECRET };
}
