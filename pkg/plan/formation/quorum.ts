/**
 * Too few primaries run to elect others, and not all that are missing are proven stopped: nobody may take over. It heals
 * when they come back; who knows that they will not can say so.
 */
import { hasEnded, isLost, stateOf } from "./member.ts";
import type { FormationHold } from "./step.ts";
import type { FormationInput, MemberView } from "./view.ts";

const MOST_NAMED = 3;

export function quorumHold({ shards, members }: FormationInput, led: ReadonlySet<number>): FormationHold | undefined {
  if (led.size > shards / 2) return undefined;
  const silent = members.filter((member) => !led.has(member.shard) && isMissed(member));
  if (silent.length === 0) return undefined;
  const few = `${shards - led.size} of ${shards} shards have no primary that runs, too many to elect one`;
  const who = `nobody can say whether these are stopped: ${some(silent.map(placeOf))}`;
  const sentences = [`${few}, and ${who}.`, "All heals when they are back.", ...waysOut(silent)];
  return { name: "quorum-lost", reason: sentences.join(" ") };
}

/** One that belongs to the cluster, and of which nothing is heard or proven. */
function isMissed(member: MemberView): boolean {
  if (member.recordedId === undefined || stateOf(member) !== undefined) return false;
  return !isLost(member) && !hasEnded(member);
}

function placeOf({ name, ran }: MemberView): string {
  if (ran === undefined) return `${name} (it is not known where it ran)`;
  const { machine, state, away } = ran;
  const words = { ready: "", "not-ready": ", which is not ready", gone: "", unknown: "" }[state];
  return `${name} (${away ? "its pod was removed from" : "on"} ${machine}${words})`;
}

/** A Node that is well reports the end of a pod that is deleted; for one that is not, a person has to speak. */
function waysOut(silent: readonly MemberView[]): readonly string[] {
  const ran = silent.flatMap((member) => member.ran ?? []);
  const off = ran.filter(({ state }) => state === "not-ready" || state === "unknown").map(({ machine }) => machine);
  const hanging = ran.filter(({ state, away }) => state === "ready" && !away).map(({ pod }) => pod);
  const said = firstOf(off).map(
    (machine) => `If Node ${machine} is off for good, and only then, say so: ${taint(machine)}.`,
  );
  return hanging.length === 0
    ? said
    : [...said, `Who hangs is ended by kubectl delete pod ${firstOf(hanging).join(" ")}.`];
}

function taint(machine: string): string {
  return `kubectl taint node ${machine} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`;
}

function firstOf(names: readonly string[]): readonly string[] {
  return [...new Set(names)].slice(0, MOST_NAMED);
}

function some(texts: readonly string[]): string {
  const more = texts.length - MOST_NAMED;
  return `${texts.slice(0, MOST_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
