/**
 * The words in which the kinds are written: valibot schemas with the bounds that the API server's CEL cost budget needs
 * (every text, list and map has a greatest size) and with messages that say what would be right.
 */
import * as v from "valibot";
import type { OpenApi } from "./openapi.ts";

/** One CEL rule, as x-kubernetes-validations has it. */
export interface Rule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly fieldPath?: string;
  /** The rule holds at creation too, and `oldSelf` is an optional value. Defaults to false. */
  readonly optionalOldSelf?: boolean;
  readonly reason?: "FieldValueInvalid" | "FieldValueForbidden" | "FieldValueRequired";
}

export function rules<T>(...list: readonly Rule[]): v.MetadataAction<T, { readonly rules: readonly Rule[] }> {
  return v.metadata({ rules: list });
}

/** What the OpenAPI schema says beyond what follows from the valibot schema. */
export function openapi<T>(extra: OpenApi): v.MetadataAction<T, { readonly openapi: OpenApi }> {
  return v.metadata({ openapi: extra });
}

export function text(about: string, max: number) {
  return v.pipe(v.string(), v.maxLength(max), v.description(about));
}

/** A text of which a pattern is asked; the message says in words what would be right. */
export function shaped(about: string, max: number, pattern: RegExp, message: string) {
  return v.pipe(v.string(), v.maxLength(max), v.regex(pattern, message), v.description(about));
}

export function flag(about: string) {
  return v.pipe(v.boolean(), v.description(about));
}

export function integer(about: string, min: number, max: number) {
  const format = max > 2 ** 31 - 1 ? "int64" : "int32";
  return v.pipe(
    v.number(),
    v.integer(),
    v.minValue(min),
    v.maxValue(max),
    openapi<number>({ format }),
    v.description(about),
  );
}

export function choice<const T extends readonly [string, ...string[]]>(about: string, options: T) {
  return v.pipe(v.picklist(options), v.description(about));
}

export function timestamp(about: string) {
  return v.pipe(v.string(), openapi<string>({ format: "date-time" }), v.description(about));
}

/** A list that is replaced as a whole. */
export function list<T extends v.GenericSchema>(about: string, max: number, item: T) {
  return v.pipe(
    v.array(item),
    v.maxLength(max),
    openapi<v.InferOutput<T>[]>({ "x-kubernetes-list-type": "atomic" }),
    v.description(about),
  );
}

/** A list whose items are told apart by keys, so that two writers can each own some of them. */
export function listByKey<T extends v.GenericSchema>(about: string, max: number, keys: readonly string[], item: T) {
  return v.pipe(
    v.array(item),
    v.maxLength(max),
    openapi<v.InferOutput<T>[]>({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys }),
    v.description(about),
  );
}

/** An object all of whose fields may be left out. */
export function section<T extends v.ObjectEntries>(about: string, entries: T) {
  return v.pipe(v.partial(v.object(entries)), v.description(about));
}

const OBJECT_NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/;
const OBJECT_NAME_RULE =
  "must be the name of an object: lower case letters, digits, '-' and '.', at most 253 characters";

/** The name of another object in the same namespace. */
export function objectName(about: string) {
  return shaped(about, 253, OBJECT_NAME, OBJECT_NAME_RULE);
}

/** The same, where the empty text says "none" and thereby outdoes a default. */
export function objectNameOrNone(about: string) {
  return shaped(about, 253, /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$/, `${OBJECT_NAME_RULE}; or empty for none`);
}

/** A Kubernetes object that the API server checks when it reaches the pod; here only its being an object is asked. */
export function opaque<T extends object>(about: string) {
  return v.pipe(
    v.custom<T>((value) => typeof value === "object" && value !== null && !Array.isArray(value), "must be an object"),
    openapi<T>({ type: "object", "x-kubernetes-preserve-unknown-fields": true }),
    v.description(about),
  );
}

/** Rules for a field that keeps the value it was given first. */
export function immutable<T>(message: string): v.MetadataAction<T, { readonly rules: readonly Rule[] }> {
  return rules({ rule: "self == oldSelf", message });
}
