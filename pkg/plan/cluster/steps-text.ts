/** Steps and holds as the status shows them: bounded, and since when. */
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import { slotsText } from "../formation/slots.ts";
import type { StatusInput } from "./facts.ts";
import type { ClusterPlan, ClusterStep } from "./plan.ts";

type ShownStep = NonNullable<ValkeyClusterStatus["plan"]>[number];
type ShownHold = NonNullable<ValkeyClusterStatus["holds"]>[number];

const MOST = 64;
const LONGEST = 1024;

/** Applying and telling are not worth a line: they are done before anybody has read it. */
export function shownSteps({ steps }: ClusterPlan, before: ValkeyClusterStatus | undefined, now: Date): ShownStep[] {
  const kinds = Map.groupBy(
    steps.filter((step) => textOf(step) !== undefined),
    (step) => step.do,
  );
  return [...kinds].slice(0, MOST).map(([step, all]) => {
    const texts = all.map((each) => textOf(each) ?? "");
    const more = texts.length > 3 ? ` and ${texts.length - 3} more` : "";
    const known = before?.plan?.find((each) => each.step === step);
    const message = `${texts.slice(0, 3).join(", ")}${more}`.slice(0, LONGEST);
    return { step, message, since: known?.since ?? now.toISOString() };
  });
}

function textOf(step: ClusterStep): string | undefined {
  return roleText(step) ?? tableText(step) ?? endingText(step);
}

function roleText(step: ClusterStep): string | undefined {
  if (step.do === "own") return `slots ${slotsText(step.slots)} to ${step.node}`;
  if (step.do === "follow") return `${step.node} follows its primary`;
  if (step.do === "handover")
    return `${step.node} hands over to ${step.successor === "" ? "a replica" : step.successor}`;
  return step.do === "promote" ? `${step.node} takes over its shard` : undefined;
}

function tableText(step: ClusterStep): string | undefined {
  if (step.do === "meet") return `${step.node} meets ${step.peers.slice(0, 3).join(", ")}`;
  return step.do === "forget" ? `${step.node} forgets ${step.nodeIds.length} that are gone` : undefined;
}

function endingText(step: ClusterStep): string | undefined {
  if (step.do === "stop-server") return `the server of ${step.node} ${step.save ? "saves and stops" : "stops"}`;
  return step.do === "delete-node" || step.do === "delete-claim" ? step.name : undefined;
}

/** A hold goes on while its name stays; its words may change. */
export function shownHolds(input: StatusInput): ShownHold[] {
  const { plan, view, now } = input;
  const before = view.cluster.status?.holds ?? [];
  const holds = [...plan.holds, ...refusals(input)];
  const counted = new Map<string, number>();
  return holds.slice(0, MOST).map(({ name, reason }) => {
    const nth = counted.get(name) ?? 0;
    counted.set(name, nth + 1);
    const same = before.filter(({ predicate }) => predicate === name);
    const message = reason.slice(0, LONGEST);
    const known = same.find((each) => each.message === message) ?? same[nth];
    return { predicate: name, message, since: known?.since ?? now.toISOString() };
  });
}

/** Commands that agents did not take, more than once: with one it may have been chance. */
function refusals({ view }: StatusInput): { readonly name: string; readonly reason: string }[] {
  return view.nodes.flatMap(({ name, agent: { failure } }) =>
    failure === undefined || failure.times < 2
      ? []
      : [{ name: "agent-refuses", reason: `${failure.step} of ${name}: ${failure.message}` }],
  );
}
