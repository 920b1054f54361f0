/**
 * Turns a valibot schema into the structural OpenAPI v3 schema of a CustomResourceDefinition. The valibot schema is the
 * only place where a field is described: its type, bounds, description, default and CEL rules all come from there.
 */
import type { Rule } from "./schema.ts";

export interface OpenApi {
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly description?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, OpenApi>>;
  readonly additionalProperties?: OpenApi;
  readonly items?: OpenApi;
  readonly anyOf?: readonly OpenApi[];
  readonly "x-kubernetes-int-or-string"?: true;
  readonly "x-kubernetes-preserve-unknown-fields"?: true;
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-map-type"?: "atomic" | "granular";
  readonly "x-kubernetes-validations"?: readonly Rule[];
}

/** What this converter reads of a valibot schema; every valibot schema is one. */
export interface SchemaNode {
  readonly type: string;
  readonly pipe?: readonly PipeItem[];
  readonly entries?: Readonly<Record<string, SchemaNode>>;
  readonly wrapped?: SchemaNode;
  readonly item?: SchemaNode;
  readonly value?: SchemaNode;
  readonly options?: readonly unknown[];
  readonly default?: unknown;
}

interface PipeItem extends SchemaNode {
  readonly kind: string;
  readonly requirement?: unknown;
  readonly message?: unknown;
  readonly description?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const OPTIONAL: ReadonlySet<string> = new Set(["optional", "exact_optional", "nullish"]);

export function toOpenApi(schema: SchemaNode): OpenApi {
  const { wrapped } = schema;
  if (wrapped !== undefined) return { ...toOpenApi(wrapped), ...defaultOf(schema), ...nullableOf(schema) };
  // The first item of a pipe is the schema it extends, which may have a pipe of its own.
  const [base, ...actions] = schema.pipe ?? [];
  if (base === undefined) return shape(schema);
  return actions.reduce((result, item) => applyPipe(result, item), toOpenApi(base));
}

export function isOptional(schema: SchemaNode): boolean {
  return OPTIONAL.has(schema.type);
}

function defaultOf(schema: SchemaNode): OpenApi {
  return schema.default === undefined ? {} : { default: schema.default };
}

function nullableOf(schema: SchemaNode): OpenApi {
  return schema.type === "nullish" || schema.type === "nullable" ? { nullable: true } : {};
}

type Shape = (schema: SchemaNode) => OpenApi;

/** What OpenAPI cannot say in these words is said by the schema itself, with `openapi(…)` in its pipe. */
const saidInPipe: Shape = () => ({});

/** The schema without what its pipe adds. */
const SHAPES: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ["string", () => ({ type: "string" })],
  ["number", () => ({ type: "number" })],
  ["boolean", () => ({ type: "boolean" })],
  ["picklist", ({ options }) => ({ type: "string", enum: options ?? [] })],
  ["array", (schema) => ({ type: "array", items: toOpenApi(need(schema, schema.item)) })],
  ["record", (schema) => ({ type: "object", additionalProperties: toOpenApi(need(schema, schema.value)) })],
  ["object", objectShape],
  ["union", saidInPipe],
  ["custom", saidInPipe],
]);

function shape(schema: SchemaNode): OpenApi {
  const make = SHAPES.get(schema.type);
  if (make !== undefined) return make(schema);
  throw new TypeError(`a valibot schema of type ${schema.type} has no counterpart in a CRD; describe it in openapi.ts`);
}

function objectShape(schema: SchemaNode): OpenApi {
  const entries = Object.entries(schema.entries ?? {});
  const required = entries.filter(([, entry]) => !isOptional(entry)).map(([name]) => name);
  const properties = Object.fromEntries(entries.map(([name, entry]) => [name, toOpenApi(entry)]));
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}

function need(schema: SchemaNode, part: SchemaNode | undefined): SchemaNode {
  if (part === undefined) throw new TypeError(`a valibot ${schema.type} without its inner schema`);
  return part;
}

function applyPipe(schema: OpenApi, item: PipeItem): OpenApi {
  if (item.type === "description") return { ...schema, description: String(item.description) };
  if (item.type === "metadata") return applyMetadata(schema, item.metadata ?? {});
  if (item.kind === "validation") return applyValidation(schema, item);
  return schema;
}

function applyMetadata(schema: OpenApi, metadata: Readonly<Record<string, unknown>>): OpenApi {
  const { openapi, rules } = metadata;
  const extended = isRecord(openapi) ? { ...schema, ...openapi } : schema;
  return Array.isArray(rules) ? withRules(extended, rules.filter(isRule)) : extended;
}

function applyValidation(schema: OpenApi, { type, requirement, message }: PipeItem): OpenApi {
  if (type === "integer") return { ...schema, type: "integer" };
  // A pattern becomes a CEL rule because a rule can say in words what would be right; a pattern can only show itself.
  if (requirement instanceof RegExp) return withRules(schema, [patternRule(requirement, message)]);
  if (typeof requirement !== "number")
    throw new TypeError(`a valibot check of type ${type} has no counterpart in a CRD`);
  return { ...schema, ...bound(type, schema.type, requirement) };
}

function bound(type: string, of: OpenApi["type"], limit: number): OpenApi {
  const list = of === "array";
  switch (type) {
    case "min_length":
      return list ? { minItems: limit } : { minLength: limit };
    case "max_length":
      return list ? { maxItems: limit } : { maxLength: limit };
    case "min_value":
      return { minimum: limit };
    case "max_value":
      return { maximum: limit };
    case "min_entries":
      return { minProperties: limit };
    case "max_entries":
      return { maxProperties: limit };
    default:
      throw new TypeError(`a valibot check of type ${type} has no counterpart in a CRD`);
  }
}

function patternRule(pattern: RegExp, message: unknown): Rule {
  if (typeof message !== "string") throw new TypeError(`the pattern ${pattern.source} needs a message in words`);
  // JavaScript writes a slash in a pattern's source as \/, which CEL's RE2 does not know.
  return { rule: `self.matches(${celString(pattern.source.replaceAll("\\/", "/"))})`, message };
}

/** The schema without the rules that hold changes only. */
export function withoutTransitions(schema: OpenApi): OpenApi {
  const { "x-kubernetes-validations": rules, properties, additionalProperties, items, ...rest } = schema;
  const kept = (rules ?? []).filter(
    ({ rule, optionalOldSelf }) => optionalOldSelf === true || !rule.includes("oldSelf"),
  );
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: mapValues(properties, withoutTransitions) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties: withoutTransitions(additionalProperties) }),
    ...(items === undefined ? {} : { items: withoutTransitions(items) }),
    ...(kept.length === 0 ? {} : { "x-kubernetes-validations": kept }),
  };
}

function mapValues<T>(record: Readonly<Record<string, T>>, map: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

/** A CEL string literal. */
export function celString(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
}

function withRules(schema: OpenApi, rules: readonly Rule[]): OpenApi {
  return { ...schema, "x-kubernetes-validations": [...(schema["x-kubernetes-validations"] ?? []), ...rules] };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isRule(value: unknown): value is Rule {
  return isRecord(value) && typeof value["rule"] === "string";
}
