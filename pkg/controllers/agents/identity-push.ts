/** Renewed identities, handed to running agents over the connection that the old ones still open. */
import type { IdentityPusher } from "../certificates/identity-pusher.ts";
import type { AgentHub, AgentTarget } from "./agent-hub.ts";

export interface PushDeps {
  readonly hub: AgentHub;
  /** Where the agent of a node is; undefined when it cannot be asked. */
  readonly targetOf: (namespace: string, node: string) => AgentTarget | undefined;
}

const PUSH_MS = 3000;

export function identityPusher({ hub, targetOf }: PushDeps): IdentityPusher {
  return {
    push: async ({ namespace, node }, { sequence, certificate, key, authorities }, signal) => {
      const target = targetOf(namespace, node);
      if (target === undefined) return false;
      const identity = {
        sequence: BigInt(sequence),
        certificate: bytes(certificate),
        key: bytes(key),
        authorities: bytes(authorities),
      };
      try {
        await hub.call(target, PUSH_MS, (agent, limits) => agent.configure({ identity }, limits), signal);
        return true;
      } catch {
        // Whoever cannot be reached now reads its mounted copy, or is handed it the next time.
        return false;
      }
    },
  };
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
