/** Which of the names that exist somebody may have meant. */

const MAX_DISTANCE = 3;
const MAX_NAMES = 5;

/** The nearest first; a name that holds what was typed counts as near. */
export function nearNames(typed: string, names: readonly string[]): string[] {
  const distances = names.map((name) => ({ name, distance: name.includes(typed) ? 1 : distance(typed, name) }));
  return distances
    .filter((one) => one.distance <= Math.min(MAX_DISTANCE, Math.ceil(typed.length / 2)))
    .toSorted((a, b) => a.distance - b.distance || a.name.localeCompare(b.name))
    .slice(0, MAX_NAMES)
    .map(({ name }) => name);
}

/** Letters to insert, remove or replace to make one of the other. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (const [i, letter] of a.split("").entries()) {
    const next = [i + 1];
    for (const [j, other] of b.split("").entries()) {
      const replace = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replace, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
