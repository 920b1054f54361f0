/** kubectl valkey status, as text: how the cluster is, what is being done, what is held back and why, what to do. */
import type { ClusterStatus } from "./cluster-objects.ts";
import type { Picture } from "./picture.ts";
import { failoverLines, rolloutLines } from "./render-rollout.ts";
import { age, type Cell, columns, indented, type Paint, paint, type Style, wrapped } from "./text.ts";

const SLOTS = 16_384;

export function renderStatus(picture: Picture, style: Style, now: Date): string {
  const { status } = picture;
  const parts = [
    head(picture, style),
    status === undefined ? [] : conditions(status, style, now),
    status === undefined ? [] : section("Rolling change", rolloutLines(status, style, now), style),
    status === undefined ? [] : section("Failover", failoverLines(status, style), style),
    status === undefined ? [] : plan(status, style, now),
    status === undefined ? [] : holds(status, style, now),
    status === undefined ? [] : troubles(status, style),
    section("To do", advice(picture), style),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n");
}

function head({ name, namespace, status, healthy, deleting }: Picture, style: Style): string[] {
  const title = paint(style, "bold", `${namespace}/${name}`);
  const phase = deleting ? "being deleted" : (status?.phase ?? "Pending");
  const said = status?.message === undefined ? "" : `: ${status.message}`;
  const [first = "", ...rest] = wrapped(`${phase}${said}`, style.width - 2);
  const lines = [title, `  ${paint(style, healthy ? "good" : "warn", first)}`, ...rest.map((line) => `  ${line}`)];
  return status === undefined ? lines : [...lines, ...columns(facts(status), style, { indent: 2, shrink: [1] })];
}

function facts(status: ClusterStatus): Cell[][] {
  return [...counts(status), ...settings(status)];
}

function counts({ masterCount = 0, readyMasters = 0, pods = 0, readyPods = 0, slotsAssigned = 0 }: ClusterStatus) {
  return [
    row("shards", `${readyMasters} of ${masterCount} serve`, masterCount > 0 && readyMasters === masterCount),
    row("pods", `${readyPods} of ${pods} ready`, pods > 0 && readyPods === pods),
    row("slots", `${slotsAssigned} of ${SLOTS} served`, slotsAssigned === SLOTS),
  ];
}

function settings({ version, tls, acl }: ClusterStatus): Cell[][] {
  return [
    ...(version === undefined ? [] : [row("version", version)]),
    ...(tls === undefined ? [] : [row("TLS", tlsText(tls))]),
    ...(acl === undefined ? [] : [row("users", aclText(acl))]),
  ];
}

function row(name: string, text: string, good?: boolean): Cell[] {
  const how = good === true ? "good" : "warn";
  return [
    { text: name, paint: "dim" },
    { text, paint: good === undefined ? undefined : how },
  ];
}

function tlsText(tls: NonNullable<ClusterStatus["tls"]>): string {
  if (tls.enabled !== true) return "off";
  const until = tls.notAfter === undefined ? "" : ` until ${tls.notAfter.slice(0, 10)}`;
  return tls.certificateStatus === undefined ? "on" : `on, certificate ${tls.certificateStatus.toLowerCase()}${until}`;
}

function aclText(acl: NonNullable<ClusterStatus["acl"]>): string {
  if (acl.enabled !== true) return "none: whoever reaches the port may do everything";
  const users = `${acl.users.length} ${acl.users.length === 1 ? "user" : "users"}`;
  return acl.synced === false ? `${users}, not yet on every node` : users;
}

/** Conditions that are bad news when they hold. */
const BAD_WHEN_TRUE: ReadonlySet<string> = new Set(["Degraded", "Drifted"]);
const NEUTRAL: ReadonlySet<string> = new Set(["Progressing"]);

function conditions({ conditions: all }: ClusterStatus, style: Style, now: Date): string[] {
  const rows = all.map(({ type, status, reason = "", lastTransitionTime }): Cell[] => [
    { text: type },
    { text: status, paint: paintOf(type, status) },
    { text: lastTransitionTime === undefined ? "" : age(now.getTime() - Date.parse(lastTransitionTime)), paint: "dim" },
    { text: reason },
  ]);
  const told = all
    .filter(({ type, status }) => paintOf(type, status) === "bad")
    .flatMap(({ type, message = "" }) => (message === "" ? [] : indented(`${type}: ${message}`, 2, style.width)));
  return section("Conditions", [...columns(rows, style, { indent: 2, shrink: [3] }), ...told], style);
}

function paintOf(type: string, status: string): Paint | undefined {
  if (NEUTRAL.has(type)) return undefined;
  if (status === "Unknown") return "warn";
  return (status === "True") === BAD_WHEN_TRUE.has(type) ? "bad" : "good";
}

function plan({ plan: steps }: ClusterStatus, style: Style, now: Date): string[] {
  const lines = steps.flatMap(({ step, message = "", progress, since }) => {
    const done = progress === undefined ? "" : ` ${progress} %`;
    return [`  ${step}${done}${forTime(since, now)}`, ...indented(message, 4, style.width)];
  });
  return section("Under way", lines, style);
}

function holds({ holds: all }: ClusterStatus, style: Style, now: Date): string[] {
  const lines = all.flatMap(({ predicate, message, since }) => [
    `  ${paint(style, "warn", predicate)}${forTime(since, now)}`,
    ...indented(message, 4, style.width),
  ]);
  return section("Held back", lines, style);
}

function forTime(since: string | undefined, now: Date): string {
  return since === undefined ? "" : `, for ${age(now.getTime() - Date.parse(since))}`;
}

const SEVERITIES: Readonly<Record<string, Paint>> = { error: "bad", warning: "warn", notice: "dim" };

function troubles({ troubles: all }: ClusterStatus, style: Style): string[] {
  const lines = all.flatMap(({ reason, message, severity = "error", nodes }) => {
    const on = nodes === undefined ? "" : ` on ${nodes} ${nodes === 1 ? "node" : "nodes"}`;
    return [
      `  ${paint(style, SEVERITIES[severity] ?? "bad", `${severity} ${reason}`)}${on}`,
      ...indented(message, 4, style.width),
    ];
  });
  return section("Trouble", lines, style);
}

function section(title: string, lines: readonly string[], style: Style): string[] {
  return lines.length === 0 ? [] : [paint(style, "bold", title), ...lines];
}

/** What the reader can do that no trouble or hold has said already. */
function advice(picture: Picture): string[] {
  const { status, seen, name, namespace, deleting } = picture;
  if (deleting) return [];
  if (status === undefined) {
    return ["  The operator has not looked at this cluster yet. Is it running? kubectl valkey version"];
  }
  if (!seen) {
    return ["  The operator has not seen the newest spec yet. Is it running? kubectl valkey version"];
  }
  const waits = status.phase === "Suspended";
  if (waits)
    return [`  kubectl patch vc ${name} -n ${namespace} --type=merge -p '{"spec":{"suspended":false}}' resumes it.`];
  return [];
}
