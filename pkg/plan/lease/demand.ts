/** A rule as a named predicate: what it demands, and in plain words why it is not met. */

/** Why something does not move, for the status and for `kubectl valkey why`. */
export interface Hold {
  readonly name: string;
  readonly reason: string;
}

export interface Demand<Facts> {
  readonly name: string;
  /** Why the demand is not met; undefined when it is. */
  readonly unmet: (facts: Facts) => string | undefined;
}

export function firstUnmet<Facts>(demands: readonly Demand<Facts>[], facts: Facts): Hold | undefined {
  for (const { name, unmet } of demands) {
    const reason = unmet(facts);
    if (reason !== undefined) return { name, reason };
  }
  return undefined;
}

/** The same demands with one left out; a name that is none is an error, so that no mutation silently changes nothing. */
export function without<Facts>(demands: readonly Demand<Facts>[], name: string): readonly Demand<Facts>[] {
  const rest = demands.filter((demand) => demand.name !== name);
  if (rest.length === demands.length) throw new RangeError(`no demand is named ${name}`);
  return rest;
}
