/** What leader election tells about itself. */
import type { Counter, Gauge, Registry } from "../metrics/metrics.ts";

export interface LeaseMetrics {
  /** 1 while this replica leads. */
  readonly leading: Gauge<"lease">;
  readonly token: Gauge<"lease">;
  readonly terms: Counter<"lease">;
  readonly renewFailures: Counter<"lease">;
}

export function leaseMetrics(registry: Registry): LeaseMetrics {
  const labels = ["lease"] as const;
  return {
    leading: registry.gauge({ name: "leader_election_leading", help: "1 while this replica leads.", labels }),
    token: registry.gauge({ name: "leader_election_token", help: "Fencing token of the last own term.", labels }),
    terms: registry.counter({ name: "leader_election_terms_total", help: "Terms this replica has led.", labels }),
    renewFailures: registry.counter({
      name: "leader_election_renew_failures_total",
      help: "Renewals that failed or were not answered.",
      labels,
    }),
  };
}
