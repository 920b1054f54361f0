/** A question that a person answers with yes or no. */
import { createInterface } from "node:readline/promises";

/** Without a terminal nobody can be asked: that is an error, not a no. */
export async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new Error("there is no terminal to ask on: give --yes to do it, or --dry-run to see it");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`\n${question} [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    terminal.close();
  }
}
