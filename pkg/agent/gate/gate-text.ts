/** What passes the gate: the way to the server's settings, and what this one start adds to them. */

import { confLine } from "../render/quote.ts";
import { FENCE, ruleLines } from "../write-rule.ts";
import type { Mode } from "./persistence.ts";

export interface GateText {
  readonly nodeConf: string;
  /** As the data on disk demands; what is wanted instead is applied when the server runs. */
  readonly mode: Mode;
}

/** Every server begins fenced, replicas too: who is promoted takes writes only when its agent has the lease. */
export function gateText({ nodeConf, mode }: GateText): string {
  return [
    confLine("include", nodeConf),
    confLine("appendonly", mode === "append-only" ? "yes" : "no"),
    ...ruleLines(FENCE).map(([name, value]) => confLine(name, value)),
    "",
  ].join("\n");
}
