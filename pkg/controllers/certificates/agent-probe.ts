/** Asks an agent by a handshake which certificate it shows, and whether it accepts the operator under a root. */
import type { ValkeyNode } from "../../api/node.ts";
import { handshake, thumbprint } from "../../pki/pki.ts";
import { PORTS, TRUST_DOMAIN } from "../../plan/objects/names.ts";
import type { Look } from "./process-sights.ts";

export interface ProbeCredential {
  readonly cert: string;
  readonly key: string;
}

export interface ProbeRequest {
  readonly node: ValkeyNode;
  /** PEM of whoever may have signed what it shows. */
  readonly authorities: string;
  /** Who we are, by the root it comes under. */
  readonly credentials: ReadonlyMap<string, ProbeCredential>;
  /** Defaults to the agents' own. */
  readonly port?: number;
}

const DEADLINE_MS = 3000;

export async function probeAgent(request: ProbeRequest, signal: AbortSignal): Promise<Look> {
  const looks = await Promise.all(
    [...request.credentials].map(async ([root, credential]) => {
      const result = await shake(request, credential, AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]));
      if (!result.ok) return { shows: undefined, accepts: [] };
      return { shows: thumbprint(result.certificate), accepts: result.accepted ? [root] : [] };
    }),
  );
  return {
    shows: looks.find(({ shows }) => shows !== undefined)?.shows,
    accepts: looks.flatMap(({ accepts }) => accepts),
  };
}

async function shake({ node, authorities, port }: ProbeRequest, credential: ProbeCredential, signal: AbortSignal) {
  const { name, namespace } = node.metadata;
  return handshake(
    {
      host: node.status?.pod?.ip ?? "",
      port: port ?? PORTS.agent,
      ca: authorities,
      credential,
      untilAccepted: true,
      expect: {
        identity: (id) =>
          id.role === "node" && id.trustDomain === TRUST_DOMAIN && id.namespace === namespace && id.node === name,
      },
    },
    signal,
  );
}
