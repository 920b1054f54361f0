/** How a renewed identity reaches a running agent at once; its mounted Secret is refreshed by kubelet a minute later. */

/** The content of an identity's Secret. */
export interface PushedIdentity {
  readonly sequence: number;
  /** The leaf and its intermediate, PEM. */
  readonly certificate: string;
  readonly key: string;
  /** Roots to trust, PEM. */
  readonly authorities: string;
}

/** The agent of a node as its pod shows where it is. */
export interface PushTarget {
  readonly namespace: string;
  /** Name of the deployment. */
  readonly cluster: string;
  /** Name of the ValkeyNode. */
  readonly node: string;
  readonly ip: string;
  readonly podUid: string;
}

/** Whoever talks to agents. */
export interface IdentityPusher {
  /** Whether the agent took it; false also when it cannot be reached. Throws nothing that is expected. */
  push(target: PushTarget, identity: PushedIdentity, signal: AbortSignal): Promise<boolean>;
}

/** Leaves it to kubelet. */
export const MOUNTS_ONLY: IdentityPusher = { push: async () => false };
