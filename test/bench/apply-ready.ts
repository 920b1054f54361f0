/** How long a user waits for a cluster; measured in apply-ready-rounds.ts. */
import type { Bench } from "./bench.ts";

export const applyReady: Bench = {
  name: "apply-ready",
  onLab: true,
  summary:
    "from apply to Ready of 3 x (1+1) pods, median of BENCH_ROUNDS (10), against a bare StatefulSet of six pods (aim: 2)",
  // Loaded late: it reads KUBECONFIG, which a mere list of benchmarks does not need.
  run: async (progress) => (await import("./apply-ready-rounds.ts")).measureApplyReady(progress),
};
