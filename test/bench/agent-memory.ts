/** What the agent costs a pod that has nothing to do; measured in agent-memory-watch.ts. */
import type { Bench } from "./bench.ts";

export const agentMemory: Bench = {
  name: "agent-memory",
  onLab: true,
  summary: "resident memory of an idle agent after BENCH_MINUTES (60), the largest of six, against the aim of 64 MB",
  // Loaded late: it reads KUBECONFIG, which a mere list of benchmarks does not need.
  run: async (progress) => (await import("./agent-memory-watch.ts")).measureAgents(progress),
};
