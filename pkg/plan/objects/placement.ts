/**
 * Where the pods of a cluster may and should run.
 *
 * What could keep a pod from ever being scheduled is only asked for where the user's own fields do: the zones that may be
 * used, and a shard's pods in different zones when there are enough of them. All else is a preference. In which zone of
 * its own a member should be is one too, so that a full or lost zone does not keep it away.
 *
 * The scheduler gives each kind of preference the same greatest weight. With zones given, cluster-wide spreading would
 * outvote them while half of the pods are placed; so there the spread is over the zones by number, and over hosts within
 * a shard.
 */
import type { V1Affinity, V1NodeAffinity, V1NodeSelectorTerm, V1PodAntiAffinity } from "@kubernetes/client-node";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import { isVoter, membersOfShard } from "./members.ts";
import { clusterSelector, type Labels, type MemberRef, shardSelector, VOTER_LABEL } from "./names.ts";

export const VOTERS: Labels = { [VOTER_LABEL]: "true" };

const HOST = "kubernetes.io/hostname";
const ZONE = "topology.kubernetes.io/zone";

export interface Placement {
  readonly affinity?: V1Affinity;
  readonly topologySpreadConstraints: NonNullable<ResolvedClusterSpec["topologySpreadConstraints"]>;
}

export function placementOf(cluster: string, spec: ResolvedClusterSpec, place: MemberRef): Placement {
  const affinity = {
    ...some("nodeAffinity", nodeAffinity(spec, place)),
    ...some("podAffinity", spec.podAffinity),
    ...some("podAntiAffinity", podAntiAffinity(cluster, spec, place)),
  };
  return {
    ...(Object.keys(affinity).length === 0 ? {} : { affinity }),
    topologySpreadConstraints: spread(cluster, spec, place),
  };
}

function some<K extends string, T>(key: K, value: T | undefined): { readonly [Key in K]?: T } {
  const out: { [Key in K]?: T } = {};
  if (value !== undefined) out[key] = value;
  return out;
}

type Distribution = NonNullable<ResolvedClusterSpec["azDistribution"]>;

/** Primaries begin round-robin over the zones; the other members of a shard follow in the zones after it. */
export function zoneOf({ zones }: Pick<Distribution, "zones">, { shard, member }: MemberRef): string | undefined {
  return zones[(shard + member) % zones.length];
}

/** Whether a shard's pods must not share a zone: asked for, and possible. */
export function partsZones(spec: ResolvedClusterSpec): boolean {
  const { azDistribution } = spec;
  if (azDistribution?.replicaStrategy !== "anti-affinity") return false;
  return membersOfShard(spec, 0).length <= azDistribution.zones.length;
}

function nodeAffinity(spec: ResolvedClusterSpec, place: MemberRef): V1NodeAffinity | undefined {
  const { azDistribution, nodeAffinity: own } = spec;
  if (azDistribution === undefined) return own;
  const { nodeLabel, zones } = azDistribution;
  const inZones = { key: nodeLabel, operator: "In", values: [...zones] };
  const inOwn = { key: nodeLabel, operator: "In", values: [zoneOf(azDistribution, place) ?? ""] };
  return {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: withExpression(
        own?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms,
        inZones,
      ),
    },
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: 100, preference: { matchExpressions: [inOwn] } },
      ...(own?.preferredDuringSchedulingIgnoredDuringExecution ?? []),
    ],
  };
}

type Term = Pick<V1NodeSelectorTerm, "matchExpressions" | "matchFields">;
type Expression = NonNullable<Term["matchExpressions"]>[number];

/** Any of the terms has to hold, so what must hold in addition goes into each of them. */
function withExpression(terms: readonly Term[] = [], also: Expression): Term[] {
  const all = terms.length === 0 ? [{}] : terms;
  return all.map((term) => ({ ...term, matchExpressions: [...(term.matchExpressions ?? []), also] }));
}

/**
 * Spread alone, pods can come to lie so that one machine has three of six. When those are three of five voters, all writes
 * stop with that machine, so voters keep away from each other too. That weighs less than to keep a shard apart, also where
 * a machine has two of them more than another.
 */
const [VOTER_ON_HOST, VOTER_IN_ZONE] = [20, 10];

/** The user's own rules take the place of ours, but not of the zones that the user asked for too. */
function podAntiAffinity(cluster: string, spec: ResolvedClusterSpec, place: MemberRef): V1PodAntiAffinity | undefined {
  const { azDistribution, podAntiAffinity: own } = spec;
  const away = (topologyKey: string, labels = shardSelector(cluster, place.shard)) => ({
    labelSelector: { matchLabels: labels },
    topologyKey,
  });
  const rather = (weight: number, podAffinityTerm: ReturnType<typeof away>) => ({ weight, podAffinityTerm });
  if (azDistribution !== undefined && partsZones(spec)) {
    const preferred = own?.preferredDuringSchedulingIgnoredDuringExecution;
    return {
      ...some("preferredDuringSchedulingIgnoredDuringExecution", preferred),
      requiredDuringSchedulingIgnoredDuringExecution: [
        ...(own?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
        away(azDistribution.nodeLabel),
      ],
    };
  }
  if (own !== undefined) return own;
  const zone = azDistribution?.nodeLabel ?? ZONE;
  return {
    preferredDuringSchedulingIgnoredDuringExecution: [
      rather(100, away(HOST)),
      rather(50, away(zone)),
      ...(isVoter(spec, place) ? awayFromVoters(cluster, spec) : []),
    ],
  };
}

/** Given zones place the voters already, and this would weigh as much as they do. */
function awayFromVoters(cluster: string, { azDistribution }: ResolvedClusterSpec) {
  if (azDistribution !== undefined) return [];
  const labelSelector = { matchLabels: { ...clusterSelector(cluster), ...VOTERS } };
  return [
    { weight: VOTER_ON_HOST, podAffinityTerm: { labelSelector, topologyKey: HOST } },
    { weight: VOTER_IN_ZONE, podAffinityTerm: { labelSelector, topologyKey: ZONE } },
  ];
}

function spread(cluster: string, spec: ResolvedClusterSpec, { shard }: MemberRef) {
  const { topologySpreadConstraints: own = [], azDistribution } = spec;
  if (own.length > 0) return own.map((each) => ({ labelSelector: select(clusterSelector(cluster)), ...each }));
  if (azDistribution !== undefined) return [softly(HOST, shardSelector(cluster, shard))];
  return [softly(ZONE, clusterSelector(cluster)), softly(HOST, clusterSelector(cluster))];
}

function softly(topologyKey: string, labels: Labels) {
  return { maxSkew: 1, topologyKey, whenUnsatisfiable: "ScheduleAnyway" as const, labelSelector: select(labels) };
}

function select(labels: Labels) {
  return { matchLabels: { ...labels } };
}
