/** How long a shard takes no write; measured in gap-rounds.ts. */
import type { Bench } from "./bench.ts";

export const nodeCutGap: Bench = {
  name: "node-cut-gap",
  onLab: true,
  summary:
    "worst gap when the node of a primary is cut off, median of 10, against CLUSTER FAILOVER FORCE by hand (aim: 4 s)",
  // Loaded late: it reads KUBECONFIG, which a mere list of benchmarks does not need.
  run: async (progress) => {
    const { NODE_CUT, measureGaps } = await import("./gap-rounds.ts");
    return measureGaps(NODE_CUT, progress);
  },
};
