/** How long a rolling change takes; measured in rolling-rounds.ts. */
import type { Bench } from "./bench.ts";

export const rolling: Bench = {
  name: "rolling",
  onLab: true,
  summary: "a rolling change of 3 x (1+1) pods under writes, median of 3, against six bare pods in turn (aim: 1.5)",
  // Loaded late: it reads KUBECONFIG, which a mere list of benchmarks does not need.
  run: async (progress) => (await import("./rolling-rounds.ts")).measureRolling(progress),
};
