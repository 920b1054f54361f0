/** Work on a cluster while two clients write to it: one as users have it, one that sees every failed attempt. */
import { harm } from "../lib/harm.ts";
import { until } from "../lib/until.ts";
import type { FrontEndName } from "../lib/write-client/front-end.ts";
import type { Report } from "../lib/write-client/report.ts";
import { WriteClient } from "../lib/write-client/write-client.ts";
import { type ClusterRef, podsOf } from "./clusters.ts";

export interface Felt {
  /** What a user's client library lets through. */
  readonly iovalkey: Report;
  /** Every attempt, without a library between. */
  readonly prober: Report;
}

const PORT = 6379;

export async function whileWriting(ref: ClusterRef, work: () => Promise<void>): Promise<Felt> {
  const addresses = (await podsOf(ref)).map(({ status }) => ({ host: status.podIP, port: PORT }));
  const start = (frontEnd: FrontEndName, rate: number) =>
    until("a node says who owns what", () => WriteClient.start({ frontEnd, addresses, rate }));
  await using iovalkey = await start("iovalkey", 150);
  await using prober = await start("prober", 300);
  await work();
  return { iovalkey: await iovalkey.stop(), prober: await prober.stop() };
}

/** What must be so after any planned change; the rest of a report is for whoever reads the failure. */
export function verdict({ iovalkey, prober }: Felt) {
  return {
    lost: harm("acknowledged writes lost", [...iovalkey.lost, ...prober.lost]),
    unread: iovalkey.unread + prober.unread,
    unacknowledged: iovalkey.unacknowledged + prober.unacknowledged,
    errors: iovalkey.errors,
  };
}

export const UNHARMED = { lost: [], unread: 0, unacknowledged: 0, errors: {} };

export function gapsText({ prober }: Felt): string {
  const gaps = prober.shards.map(({ name, worstGapMs }) => `${name} ${worstGapMs} ms`).join(", ");
  return `worst gaps ${gaps}; attempts that failed ${JSON.stringify(prober.errors)}`;
}
