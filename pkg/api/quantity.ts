/** Kubernetes quantities (`30Gi`, `500m`) and the sizes of valkey.conf (`64mb`). */
import * as v from "valibot";
import { openapi, rules, shaped } from "./schema.ts";

const QUANTITY = /^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))?$/;

/** A size on disk. CEL's own quantity functions judge it, so that it means what Kubernetes will take it to mean. */
export function storageSize(about: string) {
  return v.pipe(
    v.string(),
    v.maxLength(32),
    rules<string>(
      {
        rule: "isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))",
        message: "must be a quantity above zero, for example 30Gi",
      },
      {
        rule: "!isQuantity(self) || !isQuantity(oldSelf) || quantity(self).compareTo(quantity(oldSelf)) >= 0",
        messageExpression: "'may only grow: volumes cannot shrink; keep ' + oldSelf + ' or give more'",
        message: "may only grow: volumes cannot shrink",
      },
    ),
    v.description(about),
  );
}

/** A quantity that may be written without quotes when it is a whole number, as in a pod's resources. */
export function quantity() {
  return v.pipe(
    v.union([v.pipe(v.number(), v.integer()), v.pipe(v.string(), v.regex(QUANTITY, "must be a quantity"))]),
    openapi<string | number>({
      "x-kubernetes-int-or-string": true,
      anyOf: [{ type: "integer" }, { type: "string" }],
      maxLength: 32,
    }),
    rules<string | number>({
      rule: "type(self) == int ? self >= 0 : isQuantity(self) && !quantity(self).isLessThan(quantity('0'))",
      message: "must be a quantity of zero or more, for example 500m or 1Gi",
    }),
  );
}

/** CEL for the amount of such a quantity, as a number that can be compared, and for whether it is one. */
export function celAmount(value: string): { readonly valid: string; readonly amount: string } {
  return {
    valid: `(type(${value}) == int || isQuantity(${value}))`,
    amount: `(type(${value}) == int ? double(${value}) : quantity(${value}).asApproximateFloat())`,
  };
}

/** A size of valkey.conf. */
export function configSize(about: string) {
  return shaped(
    about,
    20,
    /^[0-9]{1,15}(b|k|kb|m|mb|g|gb|B|K|KB|M|MB|G|GB)?$/,
    "must be a number of bytes with an optional unit of valkey.conf, k, kb, m, mb, g or gb: for example 64mb",
  );
}
