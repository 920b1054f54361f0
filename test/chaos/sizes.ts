/** Memory limits that a rolling change goes through. */
const [LEAST_MIB, SIZES] = [128, 32];

/** Never the one that is there: nothing would be replaced for it. */
export function anotherSize(mebibytes: number, choice: number): number {
  const step = 1 + (choice % (SIZES - 1));
  return LEAST_MIB + ((mebibytes - LEAST_MIB + step) % SIZES);
}
