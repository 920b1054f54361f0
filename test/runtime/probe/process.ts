/** What a process of ours knows of where it runs, how its errors read, and how it ends. */
import { say } from "./say.ts";

export function printEnvironment(): void {
  say({ env: { ...process.env }, uid: process.getuid?.(), cwd: process.cwd(), nodeEnv: process.env["NODE_ENV"] });
}

/** Its name has to survive the build: errors are told apart and logged by it. */
class ReplicaOutOfReach extends Error {}

function lookForReplica(): never {
  throw new ReplicaOutOfReach("gone");
}

export function printNames(): void {
  try {
    lookForReplica();
  } catch (error) {
    if (!(error instanceof ReplicaOutOfReach)) throw error;
    say({ class: error.constructor.name, stack: error.stack });
  }
}

export function end([how = ""]: readonly string[]): void {
  switch (how) {
    case "code":
      process.exitCode = 5;
      return;
    case "throw":
      throw new Error("thrown");
    case "reject":
      void Promise.reject(new Error("rejected"));
      return;
    default:
      waitForSignal();
  }
}

function waitForSignal(): void {
  setInterval(() => {}, 60_000);
  process.once("SIGTERM", () => {
    say({ ending: true });
    process.exit(42);
  });
  say({ waiting: true });
}
