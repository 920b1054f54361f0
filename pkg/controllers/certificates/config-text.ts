/** One text of a ConfigMap. */
import * as v from "valibot";
import type { LooseObject } from "../../kube/resource.ts";

const WithData = v.object({ data: v.optional(v.record(v.string(), v.string()), {}) });

export function textIn(configMap: LooseObject, key: string): string | undefined {
  const read = v.safeParse(WithData, configMap);
  return read.success ? read.output.data[key] : undefined;
}
