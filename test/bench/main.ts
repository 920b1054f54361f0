/**
 * npm run bench            lists the benchmarks
 * npm run bench -- NAME    runs one: progress on stderr, the result as one line of JSON, the last on stdout
 *
 * docs/benchmarks.md says what each of them means.
 */
import { main } from "../../scripts/lib.ts";
import { down, insideLab, labEnv, up } from "../lab/lab.ts";
import { agentMemory } from "./agent-memory.ts";
import { applyReady } from "./apply-ready.ts";
import { type Bench, resultLine } from "./bench.ts";
import { binarySize } from "./binary-size.ts";
import { cacheThroughput } from "./cache-throughput.ts";
import { crashGap } from "./crash-gap.ts";
import { fleetMemory } from "./fleet-memory.ts";
import { freezeGap } from "./freeze-gap.ts";
import { handoverGap } from "./handover-gap.ts";
import { nodeCutGap } from "./node-cut-gap.ts";
import { operatorMemory } from "./operator-memory.ts";
import { pluginStart } from "./plugin-start.ts";
import { rolling } from "./rolling.ts";

export const BENCHES: readonly Bench[] = [
  agentMemory,
  applyReady,
  binarySize,
  cacheThroughput,
  crashGap,
  fleetMemory,
  freezeGap,
  handoverGap,
  nodeCutGap,
  operatorMemory,
  pluginStart,
  rolling,
];

const BENCH_LAB = process.env["LAB_NAME"] ?? "bench";

export interface Output {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

/** The exit code: 0, or 2 for a name that is none. */
export async function bench(args: readonly string[], benches: readonly Bench[], output: Output): Promise<number> {
  const [name, ...more] = args;
  if (name === undefined) {
    for (const line of listing(benches)) output.out(line);
    return 0;
  }
  const found = benches.find((bench) => bench.name === name);
  if (found === undefined || more.length > 0) {
    const wrong =
      found === undefined ? `there is no benchmark "${name}"` : `one at a time, without "${more.join(" ")}"`;
    output.err([`error: ${wrong}; there are:`, ...listing(benches)].join("\n"));
    return 2;
  }
  if (found.onLab === true && process.env["LAB"] === undefined) return onLab(found.name);
  const measured = await found.run((line) => output.err(`  ${line}`));
  output.out(resultLine(found.name, measured));
  return 0;
}

/** Runs this program again where the lab's API server can be reached. */
async function onLab(name: string): Promise<number> {
  try {
    const lab = await up(BENCH_LAB);
    const child = Bun.spawn([...insideLab(lab), process.execPath, import.meta.path, name], {
      env: { ...process.env, ...labEnv(lab) },
      stdio: ["ignore", "inherit", "inherit"],
    });
    return await child.exited;
  } finally {
    await down(BENCH_LAB);
  }
}

function listing(benches: readonly Bench[]): string[] {
  const width = Math.max(...benches.map(({ name }) => name.length));
  return benches.map(({ name, summary }) => `${name.padEnd(width)}  ${summary}`);
}

if (import.meta.main) {
  await main(
    () =>
      bench(process.argv.slice(2), BENCHES, {
        out: (line) => process.stdout.write(`${line}\n`),
        err: (line) => process.stderr.write(`${line}\n`),
      }),
    import.meta.path,
  );
}
