/** One at a time: bringing a lab up and taking it down exclude each other, also between processes. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Trouble } from "../../scripts/lib.ts";

const PATIENCE_MS = 15 * 60_000;

/** The lock is a file that names its holder; one whose holder has ended (a killed run) is taken over. */
export async function withLock<T>(home: string, work: () => Promise<T>): Promise<T> {
  const file = `${home}.lock`;
  await mkdir(dirname(file), { recursive: true });
  const end = performance.now() + PATIENCE_MS;
  for (let waits = 0; !(await take(file)); waits += 1) {
    if (waits === 0) process.stderr.write(`- waiting for another process to finish with this lab (${file}) ...\n`);
    if (performance.now() > end)
      throw new Trouble(`${file} is held by another process for too long; end that one first`);
    await Bun.sleep(250);
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function take(file: string): Promise<boolean> {
  try {
    await writeFile(file, `${process.pid} ${await startTime(process.pid)}`, { flag: "wx" });
    return true;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  const [pid = "", started = ""] = (
    await Bun.file(file)
      .text()
      .catch(() => "")
  ).split(" ");
  if (pid !== "" && (await startTime(Number(pid))) !== started) await rm(file, { force: true });
  return false;
}

/** When a process began, in clock ticks since boot: with its number, that names it for good. */
async function startTime(pid: number): Promise<string> {
  const stat = await Bun.file(`/proc/${pid}/stat`)
    .text()
    .catch(() => "");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
