/** A run of chaos as a page that a person can read. */
import { shapeText } from "../e2e/heal-cluster.ts";
import { clock } from "./judge.ts";
import type { Event, Outcome } from "./run.ts";

export function reportText(outcome: Outcome): string {
  const { seed, minutes, shape, report, losses, witnessed, waited, violations } = outcome;
  const verdict = violations.length === 0 ? "Nothing happened that must not." : "**What must not happen did:**";
  const excused = losses.filter(({ excuse }) => excuse !== undefined).length;
  const errors = Object.entries(report.errors).map(([kind, count]) => `${kind} ${count}`);
  return [
    `# Chaos, seed ${seed}`,
    "",
    `${shapeText(shape)}, ${shape.volumes ? "with" : "without"} volumes, ${(report.seconds / 60).toFixed(1)} minutes.`,
    `Again: \`npm run chaos -- --minutes ${minutes} --seed ${seed}\``,
    "",
    verdict,
    ...violations.map((violation) => `- ${violation}`),
    "",
    "| | |",
    "|---|---|",
    `| writes acknowledged | ${report.acknowledged} of ${report.due} |`,
    `| lost within what is promised | ${excused} |`,
    `| lost beyond it | ${losses.length - excused} |`,
    `| writes acknowledged to witnesses beside the servers | ${witnessed} |`,
    `| of these waited for all replicas | ${waited} |`,
    `| attempts that failed and were repeated | ${errors.join(", ") || "none"} |`,
    `| longest time a shard took no write | ${report.worstGapMs} ms |`,
    "",
    "| at | what happened | healthy after | worst gap | lost |",
    "|---|---|---|---|---|",
    ...outcome.events.map((event) => row(event, outcome)),
    "",
  ].join("\n");
}

function row(event: Event, { began, report, losses }: Outcome): string {
  const end = event.at + event.tookMs;
  const gaps = report.shards
    .flatMap(({ longGaps }) => longGaps)
    .filter(({ atMs, ms }) => report.startedAt + atMs + ms >= event.at && report.startedAt + atMs <= end)
    .map(({ ms }) => ms);
  const gap = gaps.length === 0 ? "" : `${Math.round(Math.max(...gaps))} ms`;
  const lost = losses.filter(({ at }) => event.windows.some(({ from, to }) => at >= from && at <= to)).length;
  const healthy = event.failure === undefined ? `${(event.tookMs / 1000).toFixed(1)} s` : "never";
  return `| ${clock(event.at - began)} | ${event.what} | ${healthy} | ${gap} | ${lost === 0 ? "" : lost} |`;
}
