/**
 * What must never happen: a lost write, two writers. Said in a line of its own, so that whoever runs the tests can tell it
 * from a test that was only too slow: what was slow may be tried again, what did harm may not.
 */
const SIGN = "### harm: ";

/** Says it if there is any, and gives back what it got. */
export function harm<T>(what: string, found: readonly T[]): readonly T[] {
  if (found.length > 0) console.log(`${SIGN}${found.length} ${what}`);
  return found;
}

export function tellsOfHarm(output: string): boolean {
  return output.includes(SIGN);
}
