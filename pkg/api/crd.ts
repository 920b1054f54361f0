/** The CustomResourceDefinition of a kind. */
import { CATEGORY, GROUP, type Kind, OWNED_BY, OWNED_LABEL, VERSION } from "./kind.ts";

export const OWNED_ANNOTATION = "valkey.io/owned-by";
/** The release of the operator whose API this is. */
export const RELEASE_ANNOTATION = "valkey.io/release";

export function crdName(kind: Kind): string {
  return `${kind.names.plural}.${GROUP}`;
}

export function toCrd(kind: Kind, release: string) {
  const { names, columns, scale, openApi } = kind;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: crdName(kind),
      labels: { [OWNED_LABEL]: OWNED_BY },
      annotations: { [OWNED_ANNOTATION]: OWNED_BY, [RELEASE_ANNOTATION]: release },
    },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { ...names, listKind: `${names.kind}List`, categories: [CATEGORY] },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {}, ...(scale === undefined ? {} : { scale }) },
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: openApi },
        },
      ],
    },
  };
}
