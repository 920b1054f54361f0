/** Conditions as every Kubernetes object has them, one per type. */
import * as v from "valibot";
import { choice, integer, listByKey, text, timestamp } from "./schema.ts";

const condition = v.object({
  type: text("What the condition is about, for example Ready.", 316),
  status: choice("Whether it holds.", ["True", "False", "Unknown"]),
  reason: v.pipe(text("One word, for programs.", 1024), v.minLength(1)),
  message: text("A sentence, for people.", 32_768),
  lastTransitionTime: timestamp("When the status last changed."),
  observedGeneration: v.optional(
    integer("The generation of the spec that this was found for.", 0, Number.MAX_SAFE_INTEGER),
  ),
});

export const conditions = v.optional(
  listByKey("What holds and what does not, one entry per type.", 32, ["type"], condition),
);
export const observedGeneration = v.optional(
  integer("The generation of the spec that this status was made for.", 0, Number.MAX_SAFE_INTEGER),
);

export type Condition = v.InferOutput<typeof condition>;
