/** The status of a ValkeyCluster. */
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import { stateOf } from "../formation/member.ts";
import { CR_LABEL, MEMBER_LABEL, metricsServiceName } from "../objects/names.ts";
import type { Trouble } from "../trouble/trouble.ts";
import { conditionsOf, type Saying } from "./conditions.ts";
import { type ClusterNow, clusterNow, type StatusInput } from "./facts.ts";
import { rolloutStatus } from "./rollout-status.ts";
import { aclStatus, securitySayings, tlsStatus } from "./security.ts";
import { shardStatus } from "./shards.ts";
import { shownHolds, shownSteps } from "./steps-text.ts";
import { mainSayings, summaryOf } from "./summary.ts";

export type { StatusInput } from "./facts.ts";

/** A repaired drift is shown for this long. */
export const DRIFT_SHOWN_MS = 120_000;

export interface ClusterReport {
  readonly status: ValkeyClusterStatus;
  readonly facts: ClusterNow;
  /** After how long the status changes by time alone. */
  readonly lookAgainMs: number | undefined;
}

export function reportCluster(input: StatusInput): ClusterReport {
  const { view, plan, now } = input;
  const { cluster, effective } = view;
  const facts = clusterNow(input);
  const summary = summaryOf(input, facts);
  const drift = driftSaying(input);
  const sayings = [...mainSayings(input, facts, summary), ...securitySayings(input, facts), drift.saying];
  const { generation, name } = cluster.metadata;
  const zones = new Map(view.nodes.map((node) => [node.name, node.pod?.zone]));
  const { exporter } = effective.spec;
  return {
    facts,
    lookAgainMs: least(facts.lookAgainMs, drift.overInMs),
    status: {
      ...summary,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      message: summary.message.slice(0, 1024),
      masterCount: facts.shards.length,
      readyMasters: facts.shards.filter(({ serves }) => serves).length,
      pods: facts.pods,
      readyPods: facts.readyPods,
      slotsAssigned: facts.served,
      ...versionOf(input),
      selector: `${CR_LABEL}=${name},${MEMBER_LABEL}=0`,
      shards: facts.shards.map((shard) => shardStatus(shard, (node) => zones.get(node))),
      plan: shownSteps(plan, cluster.status, now),
      ...rolloutStatus(input, facts),
      ...(plan.failover?.status === undefined ? failoverBefore(input) : { failover: plan.failover.status }),
      holds: shownHolds(input),
      troubles: facts.troubles.map(shownTrouble),
      tls: tlsStatus(input, facts),
      acl: aclStatus(input, facts),
      exporter: {
        enabled: exporter.enabled,
        ...(exporter.enabled ? { metricsEndpoint: `http://${metricsServiceName(name)}:${exporter.port}/metrics` } : {}),
      },
      conditions: conditionsOf(sayings, { before: cluster.status, generation, now }),
    },
  };
}

/** A thousand names would make the status too large; the sentence has the first few. */
function shownTrouble({ reason, message, severity, nodes }: Trouble) {
  return { reason, message, severity, ...(nodes.length === 0 ? {} : { nodes: nodes.length }) };
}

function least(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

function versionOf({ plan }: StatusInput): Pick<ValkeyClusterStatus, "version"> {
  const versions = new Set(plan.members.flatMap((member) => stateOf(member)?.version ?? []));
  versions.delete("");
  const [lowest, ...others] = [...versions].toSorted(Bun.semver.order);
  if (lowest === undefined) return {};
  const highest = others.at(-1);
  return { version: highest === undefined ? lowest : `${lowest} to ${highest}` };
}

/** Of a cluster that does not run now. */
function failoverBefore({ view }: StatusInput): Pick<ValkeyClusterStatus, "failover"> {
  const { failover } = view.cluster.status ?? {};
  return failover === undefined ? {} : { failover };
}

interface DriftSaying {
  readonly saying: Saying;
  readonly overInMs: number | undefined;
}

/** What a stranger changed: of our objects, and of the running servers. */
function driftSaying({ view, now }: StatusInput): DriftSaying {
  const servers = view.nodes.flatMap(({ name, agent }) => agent.drifts.map(({ what }) => `${name}: ${what}`));
  const { drift } = view;
  const left = drift === undefined ? 0 : drift.at.getTime() + DRIFT_SHOWN_MS - now.getTime();
  if (servers.length > 0) {
    const more = servers.length > 3 ? ` and ${servers.length - 3} more` : "";
    const message = `changed on running servers: ${servers.slice(0, 3).join(", ")}${more}`;
    return { saying: { type: "Drifted", status: "True", reason: "ServerChanged", message }, overInMs: undefined };
  }
  if (drift !== undefined && left > 0) {
    return { saying: { type: "Drifted", status: "True", reason: "Repaired", message: drift.what }, overInMs: left };
  }
  const message = "everything is as wanted";
  return { saying: { type: "Drifted", status: "False", reason: "AsWanted", message }, overInMs: undefined };
}
