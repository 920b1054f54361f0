/** Puts equal findings together: one sentence for each trouble, with the first few names and the number of the rest. */
import { type Finding, inner, type Severity } from "./finding.ts";
import type { Trouble } from "./trouble.ts";

const MAX_TROUBLES = 20;
const MAX_NAMES = 3;
const MAX_MESSAGE = 1024;
const WEIGHT: Readonly<Record<Severity, number>> = { error: 0, warning: 1, notice: 2 };

export function grouped(findings: readonly Finding[]): Trouble[] {
  const groups = Map.groupBy(findings, ({ reason, what, node }) => `${reason}\0${what}\0${node === "" ? "" : "node"}`);
  const troubles = [...groups.values()].map(troubleOf).toSorted(byWeight);
  if (troubles.length <= MAX_TROUBLES) return troubles;
  const shown = troubles.slice(0, MAX_TROUBLES - 1);
  const rest = troubles.slice(MAX_TROUBLES - 1);
  const reasons = [...new Set(rest.map(({ reason }) => reason))].toSorted();
  return [
    ...shown,
    {
      reason: "MoreTroubles",
      message: bounded(`${rest.length} more: ${reasons.join(", ")}. They are told when the first are put right.`),
      severity: "notice",
      nodes: [...new Set(rest.flatMap(({ nodes }) => nodes))].toSorted(inOrder),
    },
  ];
}

function troubleOf(group: readonly Finding[]): Trouble {
  const ordered = group.toSorted((a, b) => inOrder(a.subject, b.subject));
  const first = ordered.find(({ severity }) => severity === worst(group)) ?? ordered[0];
  if (first === undefined) throw new TypeError("a group has at least one member");
  const subjects = [...new Set(ordered.map(({ subject }) => subject).filter((name) => name !== ""))];
  const on = subjects.length === 0 ? "" : ` (${names(subjects)})`;
  const detail = commonest(ordered.map((finding) => finding.detail ?? ""));
  const said = detail === "" ? "" : `: ${inner(detail)}`;
  return {
    reason: first.reason,
    message: bounded(`${first.what}${on}${said}. ${first.fix}`.trimEnd()),
    severity: first.severity,
    nodes: [...new Set(ordered.map(({ node }) => node).filter((name) => name !== ""))],
  };
}

function worst(group: readonly Finding[]): Severity {
  return group.map(({ severity }) => severity).toSorted((a, b) => WEIGHT[a] - WEIGHT[b])[0] ?? "notice";
}

/** `a, b, c and 97 more` */
export function names(all: readonly string[]): string {
  const shown = all.slice(0, MAX_NAMES).join(", ");
  return all.length > MAX_NAMES ? `${shown} and ${all.length - MAX_NAMES} more` : shown;
}

/** The text that most say; of those that as many say, the first by letter, so that the message does not waver. */
function commonest(texts: readonly string[]): string {
  const counts = Map.groupBy(
    texts.filter((text) => text !== ""),
    (text) => text,
  );
  const ranked = [...counts].toSorted(([a, as], [b, bs]) => bs.length - as.length || (a < b ? -1 : 1));
  return ranked[0]?.[0] ?? "";
}

/** Numbers in names count as numbers: c-2-0 before c-10-0. */
function inOrder(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

function byWeight(a: Trouble, b: Trouble): number {
  return (
    WEIGHT[a.severity] - WEIGHT[b.severity] ||
    b.nodes.length - a.nodes.length ||
    (a.reason === b.reason ? inOrder(a.message, b.message) : inOrder(a.reason, b.reason))
  );
}

function bounded(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE - 2)} …` : text;
}
