/**
 * What is demanded before a step of a rolling change is taken, in this order: the first that is not met is what the status
 * shows. What is demanded for all clusters alike comes first, what a moment will bring comes last.
 */
import type { Demand } from "../lease/demand.ts";
import { AWAY_DEMANDS } from "./away-demands.ts";
import type { Candidate } from "./candidate.ts";
import { COPY_DEMANDS, RETIRE_DEMANDS } from "./copy-demands.ts";
import { isOlderMajor } from "./version.ts";
import { isPrimary, type RolloutView } from "./view.ts";
import { windowNow } from "./window.ts";

export interface StepFacts extends Candidate {
  readonly view: RolloutView;
  /** Steps of other shards that are taken in this same plan. */
  readonly taken: readonly Candidate[];
}

/** Demanded of every change, also of one that only cures. */
const NO_DOWNGRADE: Demand<StepFacts> = {
  name: "no-downgrade",
  unmet: ({ view: { wantedVersion, members } }) => {
    if (wantedVersion === undefined) return undefined;
    const newer = members.find(
      (member) => isPrimary(member) && isOlderMajor(wantedVersion, member.answer?.version ?? ""),
    );
    if (newer === undefined) return undefined;
    const runs = newer.answer?.version ?? "";
    return `spec.valkeyImage asks for ${wantedVersion}, but primaries run ${runs} (${newer.name}): an older server cannot read what a newer one wrote, so nothing was changed; set spec.valkeyImage back to ${runs}, or make a new ValkeyCluster of the older version and move the data`;
  },
};

const SETTINGS_ACCEPTED: Demand<StepFacts> = {
  name: "settings-accepted",
  unmet: ({ view: { members } }) => {
    const refusing = members.find(({ refused }) => refused.length > 0);
    if (refusing === undefined) return undefined;
    return `${refusing.name} refuses ${refusing.refused.join(", ")}: a server would not start with that; correct spec.config first`;
  },
};

const WINDOW_OPEN: Demand<StepFacts> = {
  name: "window-open",
  unmet: ({ view: { window, now } }) => {
    const { open, opensAt } = windowNow(window, now);
    if (open) return undefined;
    const when = opensAt === undefined ? "" : `, next at ${opensAt.toISOString()}`;
    return `spec.update.window is "${window}": pods are replaced only in the hour that it opens${when}; set it to "" to have it now`;
  },
};

const NO_FAILOVER: Demand<StepFacts> = {
  name: "no-failover-under-way",
  unmet: ({ view: { failover } }) => (failover === undefined ? undefined : `the failover ${failover} is under way`),
};

export const CURE_DEMANDS: readonly Demand<StepFacts>[] = [NO_DOWNGRADE];

export const SPARE_GOES_DEMANDS: readonly Demand<StepFacts>[] = [NO_FAILOVER, ...RETIRE_DEMANDS];

export const STEP_DEMANDS: readonly Demand<StepFacts>[] = [
  NO_DOWNGRADE,
  SETTINGS_ACCEPTED,
  WINDOW_OPEN,
  NO_FAILOVER,
  ...COPY_DEMANDS,
  ...AWAY_DEMANDS,
];
