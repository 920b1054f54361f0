/** kubectl valkey topology, as text: every shard with its nodes, or, of many shards, those that need a look. */
import type { NodePicture } from "./node-picture.ts";
import type { Picture, ShardPicture } from "./picture.ts";
import { bytes, type Cell, columns, type Paint, paint, type Style } from "./text.ts";

/** More than these are summed up. */
const SHOWN = 24;
const TROUBLED_SHOWN = 10;
const SLOTS = 16_384;

export interface TopologyOptions {
  /** Whether every shard is shown however many there are. */
  readonly all: boolean;
}

export function renderTopology(picture: Picture, style: Style, { all }: TopologyOptions): string {
  const { shards } = picture;
  const few = all || shards.length <= SHOWN;
  const body = few ? shards : shards.filter(({ healthy }) => !healthy).slice(0, TROUBLED_SHOWN);
  const lines = [headline(picture, style)];
  if (shards.length === 0) lines.push("", paint(style, "dim", "  no shard exists yet"));
  if (!few) lines.push("", ...summary(shards, style));
  lines.push(...shardLines(body, style));
  const hidden = few ? 0 : shards.filter(({ healthy }) => !healthy).length - body.length;
  if (hidden > 0) lines.push("", paint(style, "dim", `  ${hidden} more shards need a look; --all shows every shard`));
  return lines.join("\n");
}

function headline({ name, namespace, shards, status, healthy }: Picture, style: Style): string {
  const nodes = shards.flatMap((shard) => shard.nodes);
  const ready = nodes.filter((node) => node.ready).length;
  const slots = status?.slotsAssigned ?? shards.reduce((sum, { slotCount }) => sum + slotCount, 0);
  const phase = paint(style, healthy ? "good" : "warn", status?.phase ?? "Pending");
  const counts = `${count(shards.length, "shard")}, ${ready} of ${count(nodes.length, "node")} ready, ${slots} of ${SLOTS} slots`;
  return `${paint(style, "bold", `${namespace}/${name}`)}  ${phase}  ${counts}`;
}

function summary(shards: readonly ShardPicture[], style: Style): string[] {
  const healthy = shards.filter((shard) => shard.healthy).length;
  const nodes = shards.flatMap((shard) => shard.nodes);
  const zones = Map.groupBy(nodes, ({ zone }) => zone ?? "(no zone)");
  const rows = [...zones]
    .toSorted(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))
    .map(([zone, there]) => {
      const primaries = there.filter(({ role }) => role === "primary").length;
      const ready = there.filter((node) => node.ready).length;
      const machines = new Set(there.map(({ machine }) => machine)).size;
      return [
        { text: zone },
        { text: `${primaries} primaries` },
        { text: `${there.length - primaries} replicas` },
        { text: `on ${count(machines, "machine")}` },
        {
          text: ready === there.length ? "all ready" : `${there.length - ready} not ready`,
          paint: goodIf(ready === there.length),
        },
      ] satisfies Cell[];
    });
  const lags = nodes.map(({ lagBytes = 0 }) => lagBytes);
  return [
    `  ${paint(style, goodIf(healthy === shards.length), `${healthy} of ${shards.length} shards are healthy`)}, largest lag ${bytes(Math.max(0, ...lags))}`,
    ...columns(rows, style, { indent: 2, shrink: [0] }),
  ];
}

/** All shards share their columns, so that the eye can run down them. */
function shardLines(shards: readonly ShardPicture[], style: Style): string[] {
  const tables = columns(
    shards.flatMap(({ nodes }) => nodes.map(nodeCells)),
    style,
    { indent: 2, shrink: [3, 4, 1] },
  );
  let next = 0;
  return shards.flatMap((shard) => {
    const rows = tables.slice(next, next + shard.nodes.length);
    next += shard.nodes.length;
    return ["", shardTitle(shard, style), ...rows];
  });
}

function shardTitle({ index, slots, slotCount, primary, healthy }: ShardPicture, style: Style): string {
  const title = paint(style, "bold", `shard ${index}`);
  const owned = slots === "" ? paint(style, "bad", "no slots") : `slots ${short(slots)} (${slotCount})`;
  const complaint = primary === undefined ? `  ${paint(style, "bad", "no primary")}` : "";
  const mark = healthy || complaint !== "" ? "" : `  ${paint(style, "warn", "not healthy")}`;
  return `${title}  ${owned}${complaint}${mark}`;
}

const MAX_RANGES = 4;

function short(slots: string): string {
  const ranges = slots.split(",");
  return ranges.length <= MAX_RANGES
    ? slots
    : `${ranges.slice(0, MAX_RANGES).join(",")} and ${ranges.length - MAX_RANGES} more`;
}

function nodeCells({ name, role, ready, state, machine, zone, lagBytes, restarts }: NodePicture): Cell[] {
  const lag = role === "replica" && lagBytes !== undefined ? `lag ${bytes(lagBytes)}` : "";
  const again = restarts > 0 ? count(restarts, "restart") : "";
  return [
    { text: role === "unknown" ? "-" : role, paint: role === "primary" ? "bold" : undefined },
    { text: name },
    { text: state, paint: paintOf(ready, state) },
    { text: machine ?? "-" },
    { text: zone ?? "-" },
    { text: [lag, again].filter((part) => part !== "").join(", "), paint: "dim" },
  ];
}

function paintOf(ready: boolean, state: string): Paint {
  if (!ready) return "bad";
  return state === "syncing" || state === "going" ? "warn" : "good";
}

function goodIf(good: boolean): Paint {
  return good ? "good" : "warn";
}

export function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
