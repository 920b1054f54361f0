/** Where secrets are kept. */
import { choice } from "./schema.ts";

export const secretType = choice(
  "Secret: a Kubernetes Secret. SecretsStore: a volume of the secrets store CSI driver.",
  ["Secret", "SecretsStore"],
);
