/** Names of our objects: what is made for them carries their name and more, and has to fit Kubernetes' own limits. */
import type { Rule } from "./schema.ts";

/** The name begins a Service's, so it has to be a DNS label that begins with a letter. */
export function nameRule(max: number): Rule {
  return {
    rule: `self.metadata.name.size() <= ${max} && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')`,
    message: `metadata.name must have at most ${max} characters, begin with a letter and hold only lower case letters, digits and '-': the names of pods and Services begin with it`,
  };
}
