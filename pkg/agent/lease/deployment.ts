/** The deployment and the rules that an agent decides by, from what it was told. */
import type { Deployment, Member } from "../../plan/lease/context.ts";
import { RULES, type Rules } from "../../plan/lease/rules.ts";
import { chooseVoters } from "../../plan/lease/voters.ts";
import type { Configuration } from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";

export interface Place {
  readonly self: Member;
  readonly deployment: Deployment;
  readonly rules: Rules;
}

/** Undefined when the configuration does not name the node. */
export function placeOf({ members, settings }: Configuration, node: string): Place | undefined {
  const all = members.map(({ name, shard, member }): Member => ({ node: name, shard, member }));
  const self = all.find((member) => member.node === node);
  if (self === undefined) return undefined;
  const shards = Math.max(...all.map(({ shard }) => shard)) + 1;
  const timeout = Number(settings.findLast(({ name }) => name === "cluster-node-timeout")?.value ?? Number.NaN);
  const { nodeTimeoutMs: usual } = RULES.timing;
  const timing = { ...RULES.timing, nodeTimeoutMs: timeout > 0 ? timeout : usual };
  return { self, deployment: { shards, members: all, voters: chooseVoters(all) }, rules: { ...RULES, timing } };
}
