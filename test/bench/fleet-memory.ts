/** What a fleet costs the operator; measured in fleet-memory-measure.ts. */
import type { Bench } from "./bench.ts";

export const fleetMemory: Bench = {
  name: "fleet-memory",
  onLab: true,
  summary: "resident memory of the operator with 210 clusters, with 1 and 10 beside it, against the aim of 400 MB",
  // Loaded late: it reads KUBECONFIG, which a mere list of benchmarks does not need.
  run: async (progress) => (await import("./fleet-memory-measure.ts")).measureFleet(progress),
};
