/** Free settings of valkey.conf: what may stand in `spec.config`. */
import * as v from "valibot";
import { reservedRules } from "./reserved-config.ts";
import { openapi, type Rule, rules } from "./schema.ts";

const value = v.pipe(
  v.union([v.pipe(v.number(), v.integer()), v.pipe(v.string(), v.maxLength(1024))]),
  openapi<string | number>({
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "integer" }, { type: "string" }],
    maxLength: 1024,
  }),
);

/**
 * A server that is asked for more clients than the machine allows tries ever lower numbers, at its start and while it
 * runs, and stands still meanwhile: for a minute with a number that nobody could mean.
 */
export const MOST_CLIENTS = 1_000_000;

/** Whether a server must not even be asked for it: what was stored before there was a rule is not known to keep it. */
export function makesServerStandStill(name: string, setting: string): boolean {
  return name.toLowerCase() === "maxclients" && Number(setting) > MOST_CLIENTS;
}

/** The rule is younger than the first release: what is stored and stays as it is passes. */
function clientsRule(): Rule {
  const own = "self['maxclients']";
  const number = `${own} >= 1 && ${own} <= ${MOST_CLIENTS}`;
  const text = `${own}.matches('^([1-9][0-9]{0,5}|${MOST_CLIENTS})$')`;
  const stored = "oldSelf.hasValue() && 'maxclients' in oldSelf.value()";
  return {
    rule: `!('maxclients' in self) || (type(${own}) == int ? ${number} : ${text}) || (${stored} && oldSelf.value()['maxclients'] == ${own})`,
    optionalOldSelf: true,
    message: `maxclients must be a number from 1 to ${MOST_CLIENTS}: with a higher one a server stands still while it looks for what the machine allows`,
  };
}

/** A line break in a key or a value would smuggle in another setting, so both are refused here and not at rendering. */
export const valkeyConfig = v.pipe(
  v.record(v.string(), value),
  v.maxEntries(256),
  rules<Record<string, string | number>>(
    {
      rule: "self.all(key, key.matches('^[a-z][a-z0-9-]{0,127}$'))",
      message: "keys must be settings of valkey.conf in lower case, for example maxmemory-policy",
    },
    {
      rule: "self.all(key, type(self[key]) == int || !self[key].matches('[\\\\x00-\\\\x1f\\\\x7f]'))",
      message: "values must be one line of text",
    },
    clientsRule(),
    ...reservedRules(),
  ),
  v.description(
    'Any other setting of valkey.conf. Quote yes and no ("yes"): without quotes YAML reads them as true and false. Settings with a field of their own are refused here.',
  ),
);
