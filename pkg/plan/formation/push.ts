/** What agents have to be told: configuration, secrets, and where those are whom they ask about leases. */
import { chooseVoters } from "../lease/voters.ts";
import { hasEnded, isLost, stateOf } from "./member.ts";
import type { ConfigureStep, Sighting } from "./step.ts";
import type { FormationInput, MemberView, Pushed, WantedHashes } from "./view.ts";

/** An agent that has not applied what it was given is given it again after this long. */
const AGAIN_AFTER_MS = 10_000;

export function sightingsOf(members: readonly MemberView[]): readonly Sighting[] {
  return members.map((member) => {
    const { name: node, ip = "" } = member;
    return { node, ip, lost: isLost(member), stopped: hasEnded(member) };
  });
}

/** For comparing. */
export function sightingsText(sightings: readonly Sighting[]): string {
  return sightings.map(({ node, ip, lost, stopped }) => `${node} ${ip} ${lost} ${stopped}`).join("\n");
}

/**
 * A member asks those of its shard and the voters, of whom nobody else would tell it. All hear of everybody who is
 * stopped: so many may be that no election can be won. Voters also hear of everybody who is lost: what was granted to
 * them is free.
 */
export function planPushes({ members, wanted }: FormationInput): readonly ConfigureStep[] {
  const voters = new Set(chooseVoters(members.map(({ name: node, shard, member }) => ({ node, shard, member }))));
  const lost = members.filter(isLost);
  const stopped = members.filter(hasEnded);
  const shards = Map.groupBy(members, ({ shard }) => shard);
  return [...shards].flatMap(([shard, own]) => {
    const near = members.filter((other) => other.shard === shard || voters.has(other.name));
    const asked = [...new Set([...near, ...stopped])];
    const sightings = sightingsOf(asked);
    return own.flatMap((member) => {
      if (!voters.has(member.name)) return push(member, wanted, sightings);
      return push(member, wanted, sightingsOf([...new Set([...asked, ...lost])]));
    });
  });
}

function push(member: MemberView, wanted: WantedHashes, sightings: readonly Sighting[]): readonly ConfigureStep[] {
  const state = stateOf(member);
  if (state === undefined || member.busy !== undefined) return [];
  const { bootId, applied } = state;
  const before = member.pushed?.bootId === bootId ? member.pushed : undefined;
  const configuration = isDue(wanted.configurationHash, applied.configurationHash, before, "configurationHash");
  const secrets = isDue(wanted.secretsHash, applied.secretsHash, before, "secretsHash");
  const moved = before?.sightings !== sightingsText(sightings);
  if (!configuration && !secrets && !moved) return [];
  const { name } = member;
  return [
    {
      do: "configure",
      node: name,
      lane: name,
      bootId,
      configuration,
      secrets,
      sightings,
    },
  ];
}

function isDue(
  wanted: string,
  applied: string,
  before: Pushed | undefined,
  which: "configurationHash" | "secretsHash",
): boolean {
  if (wanted === "" || wanted === applied) return false;
  return before === undefined || before[which] !== wanted || before.ageMs >= AGAIN_AFTER_MS;
}
