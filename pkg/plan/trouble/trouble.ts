/**
 * What is wrong with a cluster, said plainly: what, on which pods, and what to do. The same trouble of a thousand pods is
 * one sentence.
 */
import { agentFindings } from "./agent.ts";
import { growingVolume, lostVolume } from "./claim.ts";
import { clusterFindings } from "./cluster.ts";
import type { ClusterFacts, NodeFacts } from "./facts.ts";
import type { Finding, Severity } from "./finding.ts";
import { grouped } from "./group.ts";
import { Patience } from "./patience.ts";
import { podFindings } from "./pod.ts";
import { workloadFinding } from "./workload.ts";

export interface Trouble {
  /** One CamelCase word for programs. */
  readonly reason: string;
  /** What is wrong, on which pods, and what to do; at most 1024 characters. */
  readonly message: string;
  readonly severity: Severity;
  /** The ValkeyNodes it is about, all of them; empty when it is about the whole cluster. */
  readonly nodes: readonly string[];
}

export interface TroubleReport {
  /** The worst first; a bounded number. */
  readonly troubles: readonly Trouble[];
  /** After how long another look may find more even if nothing changes. */
  readonly lookAgainMs?: number | undefined;
}

export function troublesOf(facts: ClusterFacts, now: Date): TroubleReport {
  const patience = new Patience(now);
  const findings = [...clusterFindings(facts), ...facts.nodes.flatMap((node) => nodeFindings(node, facts, patience))];
  return { troubles: grouped(findings), lookAgainMs: patience.nextMs };
}

function nodeFindings(node: NodeFacts, facts: ClusterFacts, patience: Patience): Finding[] {
  const context = { node, facts, patience };
  const pod = node.pod === undefined ? [workloadFinding(context)] : podFindings({ ...context, pod: node.pod });
  return [...pod, lostVolume(context), growingVolume(context), ...agentFindings(context)].filter(
    (finding) => finding !== undefined,
  );
}
