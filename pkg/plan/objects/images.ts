/** Which images a pod runs, and with which Secrets they are pulled. */
import type { ResolvedClusterSpec } from "../../api/resolve.ts";

export interface Images {
  readonly valkey: string;
  readonly agent: string;
  readonly exporter: string;
  readonly pullSecrets: readonly { readonly name: string }[];
}

export function imagesOf(spec: ResolvedClusterSpec, defaultAgent: string): Images {
  const { valkeyImage, sidecarImage, exporter } = spec;
  const secrets = [valkeyImage, sidecarImage, ...(exporter.enabled ? [exporter.image] : [])].flatMap(
    (image) => image?.imagePullSecrets ?? [],
  );
  return {
    valkey: `${valkeyImage.name}:${valkeyImage.tag}`,
    agent: agentImage(spec, defaultAgent),
    exporter: `${exporter.image.name}:${exporter.image.tag}`,
    pullSecrets: [...new Set(secrets.map(({ name }) => name))].map((name) => ({ name })),
  };
}

/** The user may say the repository, for a mirror, and leave the tag to the operator; or the other way round. */
function agentImage({ sidecarImage }: ResolvedClusterSpec, byDefault: string): string {
  const colon = byDefault.lastIndexOf(":");
  const [name, tag] = [byDefault.slice(0, colon), byDefault.slice(colon + 1)];
  return `${sidecarImage?.name ?? name}:${sidecarImage?.tag ?? tag}`;
}
