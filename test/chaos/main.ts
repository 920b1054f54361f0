/**
 * npm run chaos                              three minutes with a seed of its own choice
 * npm run chaos -- --minutes N --seed S      so long, and the same things in the same order again
 *
 * Faults one after another on a cluster in the lab, under a client that writes. Ends with 1 when something happened that
 * must not (docs/promises.md); the page about it is dist/chaos-SEED.md, and what the agents said dist/chaos-SEED.log.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { DIST, main, Trouble } from "../../scripts/lib.ts";
import { down, insideLab, labEnv, up } from "../lab/lab.ts";

const CHAOS_LAB = process.env["LAB_NAME"] ?? "chaos";
const LARGEST_SEED = 100_000;

interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly keep: boolean;
}

function options(): Options {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "3" },
      seed: { type: "string", default: String(Math.floor(Math.random() * LARGEST_SEED)) },
      keep: { type: "boolean", default: false },
    },
  });
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (!(minutes > 0)) throw new Trouble(`--minutes takes a number above zero, not ${values.minutes}`);
  if (!Number.isInteger(seed) || seed < 0) throw new Trouble(`--seed takes a whole number, not ${values.seed}`);
  return { minutes, seed, keep: values.keep };
}

async function chaos({ minutes, seed }: Options): Promise<number> {
  // Loaded late: it reads KUBECONFIG, which is there only inside the lab.
  const { runChaos } = await import("./run.ts");
  const { reportText } = await import("./report.ts");
  console.log(`seed ${seed}`);
  const outcome = await runChaos({ seed, minutes, progress: (line) => console.log(line) });
  const page = join(DIST, `chaos-${seed}.md`);
  await Bun.write(page, reportText(outcome));
  if (outcome.evidence !== "") await Bun.write(join(DIST, `chaos-${seed}.log`), outcome.evidence);
  for (const violation of outcome.violations) console.log(`VIOLATION ${violation}`);
  console.log(`seed ${seed}: ${outcome.events.length} events, ${outcome.violations.length} violations; see ${page}`);
  return outcome.violations.length === 0 ? 0 : 1;
}

/** Runs this program again where the lab's pods can be reached. */
async function onLab({ minutes, seed, keep }: Options): Promise<number> {
  const lab = await up(CHAOS_LAB);
  try {
    const words = ["--minutes", String(minutes), "--seed", String(seed)];
    const child = Bun.spawn([...insideLab(lab), process.execPath, import.meta.path, ...words], {
      env: { ...process.env, ...labEnv(lab) },
      stdio: ["ignore", "inherit", "inherit"],
    });
    return await child.exited;
  } finally {
    if (!keep) await down(CHAOS_LAB);
  }
}

await main(
  async () => {
    const chosen = options();
    return process.env["LAB"] === undefined ? onLab(chosen) : chaos(chosen);
  },
  import.meta.path,
);
