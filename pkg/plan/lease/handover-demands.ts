/** What is demanded before a primary gives its lease to a successor. */
import type { Demand } from "./demand.ts";
import type { HandoverFacts } from "./handover.ts";

const WRITES_REFUSED: Demand<HandoverFacts> = {
  name: "writes-refused",
  unmet: ({ fencedAt }) => (fencedAt === undefined ? "the server has not confirmed that it refuses writes" : undefined),
};

const SUCCESSOR_HAS_ALL: Demand<HandoverFacts> = {
  name: "successor-has-all",
  unmet: ({ own, successor }) => {
    if (successor === undefined) return "the successor has not spoken since writes are refused";
    if (successor.offset >= own.offset) return undefined;
    return `${successor.node} is at ${successor.offset} of ${own.offset}`;
  },
};

const SUCCESSOR_LINKED: Demand<HandoverFacts> = {
  name: "successor-linked",
  unmet: ({ own, successor }) =>
    successor === undefined || (successor.linkUp && successor.dataEpoch === own.dataEpoch)
      ? undefined
      : `${successor.node} has lost the link to its primary`,
};

export const HANDOVER_DEMANDS: readonly Demand<HandoverFacts>[] = [WRITES_REFUSED, SUCCESSOR_HAS_ALL, SUCCESSOR_LINKED];
