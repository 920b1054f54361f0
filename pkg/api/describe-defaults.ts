/** Writes built in values into the descriptions of a schema, for fields whose default the API server does not fill in. */
import type { OpenApi } from "./openapi.ts";

export function describeDefaults(schema: OpenApi, defaults: unknown): OpenApi {
  if (isPlain(defaults) && schema.properties !== undefined) {
    const described = Object.entries(schema.properties)
      .filter(([name]) => name in defaults)
      .map(([name, field]): [string, OpenApi] => [name, describeDefaults(field, defaults[name])]);
    return { ...schema, properties: { ...schema.properties, ...Object.fromEntries(described) } };
  }
  if (isEmpty(defaults)) return schema;
  return { ...schema, description: `${schema.description ?? ""} Default: ${written(defaults)}.`.trimStart() };
}

function written(value: unknown): string {
  if (!isPlain(value)) return typeof value === "string" ? value : JSON.stringify(value);
  return Object.entries(value)
    .map(([key, part]) => `${key} ${written(part)}`)
    .join(", ");
}

function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isPlain(value) ? Object.keys(value).length === 0 : value === "";
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
