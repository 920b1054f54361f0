/** How long a shard takes no write; measured in gap-rounds.ts. */
import type { Bench } from "./bench.ts";

export const crashGap: Bench = {
  name: "crash-gap",
  onLab: true,
  summary: "worst gap of a killed primary, median of 10, against CLUSTER FAILOVER FORCE by hand (aim: 250 ms)",
  // Loaded late: it reads KUBECONFIG, which a mere list of benchmarks does not need.
  run: async (progress) => {
    const { CRASH, measureGaps } = await import("./gap-rounds.ts");
    return measureGaps(CRASH, progress);
  },
};
