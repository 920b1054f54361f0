/** kubectl valkey topology NAME: shards with their slots, primaries and replicas, and where they run. */
import type { Picture, ShardPicture } from "./picture.ts";
import { renderTopology } from "./render-topology.ts";
import { type ShowOptions, show } from "./show.ts";

export interface TopologyShowOptions extends ShowOptions {
  readonly all?: boolean;
}

export async function showTopology(name: string, options: TopologyShowOptions): Promise<number> {
  const all = options.all === true;
  return show(
    { text: (picture, style) => renderTopology(picture, style, { all }), lines: topologyLines, json: topologyJson },
    name,
    options,
  );
}

export function topologyLines({ shards, status }: Picture): string[] {
  return [`${status?.phase ?? "Pending"}: ${status?.message ?? ""}`, ...shards.map(shardLine)];
}

function shardLine({ index, slots, primary, nodes }: ShardPicture): string {
  const members = nodes.map(({ name, role, state }) => `${name} ${role === "unknown" ? "" : `${role} `}${state}`);
  const owned = slots === "" ? "no slots" : slots;
  return `shard ${index}: ${owned}: ${primary === undefined ? "no primary; " : ""}${members.join(", ")}`;
}

export function topologyJson({ name, namespace, healthy, status, shards }: Picture): object {
  return { name, namespace, healthy, phase: status?.phase, shards };
}
