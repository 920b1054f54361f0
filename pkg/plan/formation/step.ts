/** What formation asks of agents. Each step goes to one agent, is idempotent, and names the id that it was decided on. */
import type { SlotRange } from "./slots.ts";

/** What the operator knows of a member that its peers cannot know. */
export interface Sighting {
  readonly node: string;
  /** Empty when its pod has none. */
  readonly ip: string;
  readonly lost: boolean;
  /** Whether its server is proven not to run; its copy may still count. */
  readonly stopped: boolean;
}

interface ToAgent {
  /** Name of the ValkeyNode whose agent is meant. */
  readonly node: string;
  /** Steps to one agent go in order; agents go side by side, so that a stuck one holds up nobody. */
  readonly lane: string;
}

export interface ConfigureStep extends ToAgent {
  readonly do: "configure";
  readonly bootId: string;
  readonly configuration: boolean;
  readonly secrets: boolean;
  /** All of the shard: what is said replaces what was said before. */
  readonly sightings: readonly Sighting[];
}

export interface OwnStep extends ToAgent {
  readonly do: "own";
  readonly nodeId: string;
  readonly slots: readonly SlotRange[];
  readonly configEpoch: number;
}

export interface MeetStep extends ToAgent {
  readonly do: "meet";
  readonly peers: readonly string[];
}

export interface FollowStep extends ToAgent {
  readonly do: "follow";
  readonly nodeId: string;
  readonly primaryId: string;
}

export interface PromoteStep extends ToAgent {
  readonly do: "promote";
  readonly nodeId: string;
  readonly primaryId: string;
  readonly withoutVote: boolean;
}

export interface ForgetStep extends ToAgent {
  readonly do: "forget";
  readonly nodeIds: readonly string[];
}

export type FormationStep = ConfigureStep | OwnStep | MeetStep | FollowStep | PromoteStep | ForgetStep;

/** Why something that is wanted does not happen yet. */
export interface FormationHold {
  readonly name: string;
  readonly reason: string;
  /** Absent when it concerns the whole cluster. */
  readonly shard?: number;
}

export interface FormationPlan {
  readonly steps: readonly FormationStep[];
  readonly holds: readonly FormationHold[];
  /** Whether agents should be asked often: something is on its way that no report tells at once. */
  readonly closely: boolean;
  /** Look again after this long even if nothing is heard. */
  readonly requeueAfterMs: number | undefined;
}
