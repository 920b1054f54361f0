/**
 * How long a person waits before our plugin begins to answer, against kubectl itself. The commands take turns, so that
 * whatever else the machine does falls on all of them alike.
 */
import { build } from "../../scripts/build.ts";
import { Trouble } from "../../scripts/lib.ts";
import { type Bench, type Measured, median, type Progress, rounded } from "./bench.ts";
import { findKubectl } from "./kubectl.ts";

const WARM_UP = 3;
const ROUNDS = 40;
const DEADLINE_MS = 30_000;

export const pluginStart: Bench = {
  name: "plugin-start",
  summary: "median start of kubectl-valkey --version and --help, the slower one, against kubectl version --client",
  run: async (progress) => {
    const plugin = await build("kubectl-valkey");
    const ours = { version: [plugin, "--version"], help: [plugin, "--help"] };
    return measureStarts(ours, [...(await findKubectl()), "version", "--client"], progress);
  },
};

export function measureStarts(
  ours: Readonly<Record<string, readonly string[]>>,
  theirs: readonly string[],
  progress: Progress,
): Measured {
  const commands = Object.entries({ ...ours, kubectl: theirs });
  const times = new Map(commands.map(([what]) => [what, [] as number[]]));
  progress(`compared with: ${theirs.join(" ")}`);
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [what, command] of commands) {
      const ms = startOnce(command);
      if (round >= 0) times.get(what)?.push(ms);
    }
    if (round % 10 === 9) progress(`${round + 1} of ${ROUNDS} rounds`);
  }
  const runs = [...times].map(([what, ms]) => ({
    what,
    median: rounded(median(ms), 2),
    min: rounded(Math.min(...ms), 2),
    max: rounded(Math.max(...ms), 2),
    rounds: ms.length,
  }));
  const limit = runs.findLast(({ what }) => what === "kubectl")?.median ?? Number.NaN;
  const value = Math.max(...runs.filter(({ what }) => what !== "kubectl").map((run) => run.median));
  return { value, unit: "ms", limit, runs };
}

function startOnce(command: readonly string[]): number {
  const began = performance.now();
  const { exitCode } = Bun.spawnSync([...command], {
    // A cluster that the caller's configuration names has no part in this.
    env: { ...process.env, KUBECONFIG: "/dev/null" },
    stdout: "ignore",
    stderr: "ignore",
    timeout: DEADLINE_MS,
  });
  const ms = performance.now() - began;
  if (exitCode !== 0) throw new Trouble(`${command.join(" ")} ended with ${exitCode} after ${ms.toFixed(0)} ms`);
  return ms;
}
