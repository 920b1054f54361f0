/** What a failover will do and could cost, in words. */
import type { FailoverChoice } from "./failover-choice.ts";

export function failoverText({ shard, from, to, heirs }: FailoverChoice): string[] {
  const names = heirs.map(({ name }) => name);
  const heir =
    to?.name ?? (names.length === 1 ? names.join("") : `the one of ${names.join(", ")} with the newest copy`);
  return [
    `Shard ${shard.index} (slots ${shard.slots}): ${from.name} hands over to ${heir}.`,
    "",
    `  Writes to ${shard.slotCount} slots wait until ${to?.name ?? "the replica"} has everything, usually for less than 0.1 s.`,
    "  No acknowledged write is lost. Clients that know the cluster protocol are redirected; the others get an error.",
    `  ${from.name} stays, as a replica. If the handover takes too long, it leads on and nothing has changed.`,
  ];
}
