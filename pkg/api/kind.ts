/** What every kind of ours has in common: its names, its schema, its columns; and how an object of it is parsed. */
import * as v from "valibot";
import { describeDefaults } from "./describe-defaults.ts";
import { type OpenApi, toOpenApi, withoutTransitions } from "./openapi.ts";
import { ParseError } from "./parse-error.ts";
import type { Rule } from "./schema.ts";

export const GROUP = "valkey.io";
export const VERSION = "v1alpha1";
export const API_VERSION = `${GROUP}/${VERSION}`;
/** `kubectl get valkeys` shows every kind of ours. */
export const CATEGORY = "valkeys";

/** A CRD of these names without this label belongs to somebody else and is never touched. */
export const OWNED_LABEL = "app.kubernetes.io/managed-by";
export const OWNED_BY = "valkey-operator";

const shortText = v.pipe(v.string());
const metadata = v.object({
  name: shortText,
  namespace: v.optional(shortText),
  uid: v.optional(shortText),
  resourceVersion: v.optional(shortText),
  generation: v.optional(v.number()),
  // Null in what has not been stored yet.
  creationTimestamp: v.optional(
    v.pipe(
      v.nullable(shortText),
      v.transform((value) => value ?? undefined),
    ),
  ),
  deletionTimestamp: v.optional(shortText),
  labels: v.optional(v.record(v.string(), v.string())),
  annotations: v.optional(v.record(v.string(), v.string())),
  finalizers: v.optional(v.array(v.string())),
  ownerReferences: v.optional(
    v.array(
      v.object({
        apiVersion: v.string(),
        kind: v.string(),
        name: v.string(),
        uid: v.string(),
        controller: v.optional(v.boolean()),
        blockOwnerDeletion: v.optional(v.boolean()),
      }),
    ),
  ),
});
export type ObjectMeta = v.InferOutput<typeof metadata>;

/** An object of a kind of ours, as the API server gives it. */
export interface Resource<Spec, Status> {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: Spec;
  readonly status?: Status | undefined;
}

export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "date" | "boolean";
  readonly jsonPath: string;
  readonly description: string;
  /** 1 shows it only with -o wide. */
  readonly priority?: number;
}

export interface Names {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
}

export interface KindRequest<Spec extends v.GenericSchema, Status extends v.GenericSchema> {
  readonly names: Names;
  readonly description: string;
  readonly spec: Spec;
  /** Defaults to true: an object without a spec is refused. */
  readonly specRequired?: boolean;
  /** Defaults to true. Without them a stored object may be changed in any way that a new one could be. */
  readonly transitions?: boolean;
  /** Values of spec fields that are filled in by the operator, not by the API server; told in the descriptions. */
  readonly operatorDefaults?: object;
  readonly status: Status;
  readonly columns: readonly Column[];
  /** Rules on the whole object, which alone may look at metadata.name. */
  readonly rules?: readonly Rule[];
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath: string;
  };
}

export interface Kind<Spec = unknown, Status = unknown> {
  readonly names: Names;
  readonly description: string;
  readonly columns: readonly Column[];
  readonly scale: KindRequest<v.GenericSchema, v.GenericSchema>["scale"];
  readonly openApi: OpenApi;
  /** The typed object, or a ParseError that lists every wrong field. */
  readonly parse: (value: unknown) => Resource<Spec, Status>;
}

export function defineKind<Spec extends v.GenericSchema, Status extends v.GenericSchema>(
  request: KindRequest<Spec, Status>,
): Kind<v.InferOutput<Spec>, v.InferOutput<Status>> {
  const { names, description, columns, scale, spec, status } = request;
  const envelope = v.object({ apiVersion: v.literal(API_VERSION), kind: v.literal(names.kind), metadata });
  const parse = (value: unknown): Resource<v.InferOutput<Spec>, v.InferOutput<Status>> => {
    const which = `${names.kind} ${nameOf(value)}`.trimEnd();
    const { apiVersion, kind, metadata } = checked(which, envelope, value, []);
    const parts = { spec: undefined, status: undefined, ...asObject(value) };
    return {
      apiVersion,
      kind,
      metadata,
      spec: checked(which, spec, parts.spec, ["spec"]),
      ...(parts.status === undefined ? {} : { status: checked(which, status, parts.status, ["status"]) }),
    };
  };
  return { names, description, columns, scale, openApi: rootSchema(request), parse };
}

function asObject(value: unknown): object {
  return typeof value === "object" && value !== null ? value : {};
}

function checked<T extends v.GenericSchema>(
  which: string,
  schema: T,
  value: unknown,
  at: readonly string[],
): v.InferOutput<T> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw new ParseError(which, result.issues, at);
}

function nameOf(value: unknown): string {
  const result = v.safeParse(v.object({ metadata: v.object({ name: v.string() }) }), value);
  return result.success ? result.output.metadata.name : "";
}

function rootSchema(request: KindRequest<v.GenericSchema, v.GenericSchema>): OpenApi {
  const { rules = [], specRequired = true, transitions = true } = request;
  const spec = describeDefaults(toOpenApi(request.spec), request.operatorDefaults ?? {});
  return {
    type: "object",
    description: request.description,
    ...(specRequired ? { required: ["spec"] } : {}),
    properties: {
      apiVersion: { type: "string", description: `Always ${API_VERSION}.` },
      kind: { type: "string", description: `Always ${request.names.kind}.` },
      metadata: { type: "object" },
      spec: transitions ? spec : withoutTransitions(spec),
      status: toOpenApi(request.status),
    },
    ...(rules.length > 0 ? { "x-kubernetes-validations": rules } : {}),
  };
}
