/** What is seen of a cluster before anything is decided about it. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyNode } from "../../api/node.ts";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import type { FailoverOutcome } from "../failover/view.ts";
import type { Contact, Met, Pushed, Ran } from "../formation/view.ts";
import type { Effective } from "../lifecycle/effective.ts";
import type { Form } from "../lifecycle/form.ts";
import type { Desired, DesiredObject } from "../objects/types.ts";
import type { AgentFacts, ClaimFacts, ClusterFacts, PodFacts } from "../trouble/facts.ts";

export interface PodNow extends PodFacts {
  readonly metadata: PodFacts["metadata"] & { readonly uid?: string | undefined };
  /** The revision that it was made of. */
  readonly revision: string | undefined;
  readonly zone: string | undefined;
}

/** What the agent says, and what is under way with it. */
export interface AgentNow {
  readonly contact: Contact;
  readonly busy: string | undefined;
  /** Nodes that its server was introduced to in the last seconds. */
  readonly met: readonly Met[];
  readonly failure: { readonly step: string; readonly message: string; readonly times: number } | undefined;
  readonly pushed: Pushed | undefined;
  readonly facts: AgentFacts | undefined;
  /** Differences between what was applied and what runs, by name: `config maxmemory`. */
  readonly drifts: readonly { readonly what: string; readonly repaired: boolean }[];
}

/** One place of the cluster, wanted or there. */
export interface NodeNow {
  readonly name: string;
  readonly shard: number;
  readonly member: number;
  /** The ValkeyNode as it is stored. */
  readonly node: ValkeyNode | undefined;
  readonly pod: PodNow | undefined;
  /** Undefined when it is not known, or when it never had a pod. */
  readonly ran: Ran | undefined;
  readonly claim: ClaimFacts | undefined;
  readonly agent: AgentNow;
}

/** A stranger's change of an object of ours that was put back. */
export interface DriftNow {
  readonly what: string;
  readonly at: Date;
}

export interface ServerCertificateNow {
  readonly notAfter: Date;
  readonly thumbprint: string;
}

export interface ClusterView {
  readonly cluster: ValkeyCluster;
  /** As it was asked for. */
  readonly asked: ResolvedClusterSpec;
  /** Undefined when nothing was made yet. */
  readonly running: Form | undefined;
  readonly effective: Effective;
  readonly desired: Desired;
  /** Whether an object was applied like this and is as it was then. */
  readonly isSettled: (object: DesiredObject) => boolean;
  readonly nodes: readonly NodeNow[];
  /** Claims that carry the cluster's labels, those of nodes that are gone included. */
  readonly claims: readonly { readonly name: string; readonly node: string; readonly going: boolean }[];
  readonly pods: readonly { readonly name: string; readonly node: string }[];
  readonly strangersForMs: ReadonlyMap<string, number>;
  readonly drift: DriftNow | undefined;
  /** What came of the last failover that this operator has asked an agent for. */
  readonly failoverOutcome: FailoverOutcome | undefined;
  /** What troubles are found in; without what failed meanwhile. */
  readonly facts: ClusterFacts;
  /** Of the servers; undefined without TLS, or while there is none. */
  readonly serverCertificate: ServerCertificateNow | undefined;
}
