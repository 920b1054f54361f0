import { writeSync } from "node:fs";

/** One message for the test that runs the probe, out before the next line of code runs. */
export function say(message: Readonly<Record<string, unknown>>): void {
  writeSync(1, `${JSON.stringify(message)}\n`);
}
