/**
 * A few minutes of faults in random order, and never anything that must not happen. The seed is fixed, so that a change
 * of the product is to blame for a failure; CHAOS_SEED and CHAOS_MINUTES choose others, and so does npm run chaos.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { DIST } from "../../scripts/lib.ts";
import { reportText } from "../chaos/report.ts";
import { runChaos } from "../chaos/run.ts";
import { onLab } from "./cluster.ts";

const SEED = Number(process.env["CHAOS_SEED"] ?? 2);
const MINUTES = Number(process.env["CHAOS_MINUTES"] ?? 3);
/** Installing, making the cluster, the last recovery and reading everything back. */
const AROUND_MS = 600_000;

test.skipIf(!onLab)(
  `${MINUTES} minutes of chaos, seed ${SEED}: nothing happens that must not`,
  async () => {
    const outcome = await runChaos({ seed: SEED, minutes: MINUTES, progress: (line) => console.log(line) });
    await Bun.write(join(DIST, `chaos-${SEED}.md`), reportText(outcome));
    if (outcome.evidence !== "") await Bun.write(join(DIST, `chaos-${SEED}.log`), outcome.evidence);
    expect(outcome.violations).toEqual([]);
  },
  MINUTES * 60_000 + AROUND_MS,
);
