/** Installing Debian packages on this machine. */
import { run, Trouble } from "./lib.ts";

const LOCK_TRIES = 60;
const LOCK_RETRY_MS = 5000;

export async function aptInstall(packages: readonly string[]): Promise<void> {
  await aptGet(["update", "-qq"]);
  await aptGet(["install", "-y", "-qq", "--no-install-recommends", ...packages]);
}

/** A new machine often looks for updates of its own right after its start: whoever has apt's lock gives it back. */
async function aptGet(args: readonly string[]): Promise<void> {
  for (let turn = 1; ; turn += 1) {
    try {
      await run(["apt-get", ...args], { env: { DEBIAN_FRONTEND: "noninteractive" } });
      return;
    } catch (error) {
      if (turn === LOCK_TRIES || !isLocked(error)) throw error;
      if (turn === 1) process.stderr.write("  another program holds apt's lock: waiting for it\n");
      await Bun.sleep(LOCK_RETRY_MS);
    }
  }
}

function isLocked(error: unknown): boolean {
  return error instanceof Trouble && error.message.includes("Could not get lock");
}
