/**
 * What an earlier boot of a voter has granted, or is on its way with, to this member. A voter that was born without memory
 * may learn from the others at once when no member counts any of it; otherwise it waits until all of it has run out.
 */
import type { CandidateState } from "./candidate.ts";
import type { Context } from "./context.ts";
import type { Correspondent } from "./correspondents.ts";
import { type Demand, firstUnmet } from "./demand.ts";
import { canWrite, type HolderState } from "./holder.ts";
import { writeForMs } from "./timing.ts";

export interface DisregardFacts {
  readonly context: Context;
  readonly holder: HolderState;
  readonly candidate: CandidateState;
  /** The voter that asks, in its present boot. */
  readonly voter: string;
  readonly boot: string;
  /** What is known of that voter. */
  readonly known: Correspondent | undefined;
}

/** Whether nothing that an earlier boot of the voter has granted counts here, now or when it arrives. */
export function disregards(facts: DisregardFacts): boolean {
  return firstUnmet(facts.context.rules.disregard, facts) === undefined;
}

/**
 * Whether the voter's boot has answered something that was asked after the last claim. Then no answer of an earlier boot
 * to that claim counts any more; and what is asked from now on, no earlier boot will answer.
 */
export function isProven({ holder, candidate, known, boot, voter }: DisregardFacts): boolean {
  const renewals = holder.rounds.filter(({ asked }) => asked.includes(voter));
  const claims = [...renewals, ...candidate.asked].map(({ seq }) => seq);
  return claims.length === 0 || (known?.boot === boot && known.provenSeq >= Math.max(...claims));
}

const PRESENT_BOOT: Demand<DisregardFacts> = {
  name: "present-boot",
  unmet: (facts) => (isProven(facts) ? undefined : `an answer of an earlier boot of ${facts.voter} may be on its way`),
};

const LEASE_OF_OTHERS: Demand<DisregardFacts> = {
  name: "lease-of-others",
  unmet: ({ context, holder, voter }) => {
    if (context.now >= holder.leaseUntil && !canWrite(context, holder)) return undefined;
    const { rules, deployment } = context;
    const enough = holder.rounds.some(({ sentAt, grantedBy }) => {
      const others = grantedBy.filter((node) => node !== voter).length;
      return (
        others >= rules.majority(deployment.voters.length) && sentAt + writeForMs(rules.timing) >= holder.leaseUntil
      );
    });
    return enough ? undefined : `the write lease rests on what ${voter} granted`;
  },
};

const NO_CANDIDACY: Demand<DisregardFacts> = {
  name: "no-candidacy",
  unmet: ({ candidate: { askingSince, begunAt, electionUntil }, voter }) => {
    const idle = askingSince === undefined && begunAt === undefined && electionUntil === undefined;
    return idle ? undefined : `an election may rest on what ${voter} promised`;
  },
};

export const DISREGARD_DEMANDS: readonly Demand<DisregardFacts>[] = [PRESENT_BOOT, LEASE_OF_OTHERS, NO_CANDIDACY];
