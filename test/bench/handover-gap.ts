/** For how long writes stand still when a primary hands over; measured in handover-gap-rounds.ts. */
import type { Bench } from "./bench.ts";

export const handoverGap: Bench = {
  name: "handover-gap",
  onLab: true,
  summary: "longest time without a write in a handover, median of 20, against a bare CLUSTER FAILOVER (aim: 100 ms)",
  // Loaded late: it reads KUBECONFIG, which a mere list of benchmarks does not need.
  run: async (progress) => (await import("./handover-gap-rounds.ts")).measureHandovers(progress),
};
