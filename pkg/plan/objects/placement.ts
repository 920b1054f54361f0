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
import { membersOfShard } from "./members.ts";
import { clusterSelector, type Labels, type MemberRef, shardSelector } from "./names.ts";

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

/** The user's own rules take the place of ours, but not of the zones that the user asked for too. */
function podAntiAffinity(
  cluster: string,
  spec: ResolvedClusterSpec,
  { shard }: MemberRef,
): V1PodAntiAffinity | undefined {
  const { azDistribution, podAntiAffinity: own } = spec;
  const away = (topologyKey: string) => ({
    labelSelector: { matchLabels: shardSelector(cluster, shard) },
    topologyKey,
  });
  const rather = (topologyKey: string, weight: number) => ({ weight, podAffinityTerm: away(topologyKey) });
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
  return { preferredDuringSchedulingIgnoredDuringExecution: [rather(HOST, 100), rather(zone, 50)] };
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
