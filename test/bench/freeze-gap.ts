/** How long a shard takes no write; measured in gap-rounds.ts. */
import type { Bench } from "./bench.ts";

export const freezeGap: Bench = {
  name: "freeze-gap",
  onLab: true,
  summary: "worst gap of a frozen primary, median of 10, against CLUSTER FAILOVER FORCE by hand (aim: 3 s)",
  // Loaded late: it reads KUBECONFIG, which a mere list of benchmarks does not need.
  run: async (progress) => {
    const { FREEZE, measureGaps } = await import("./gap-rounds.ts");
    return measureGaps(FREEZE, progress);
  },
};
