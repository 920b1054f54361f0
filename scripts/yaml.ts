/**
 * Writes YAML for manifests: blocks, two spaces, texts quoted whenever a YAML 1.1 reader could take them for something
 * else. Bun.YAML.stringify is not used because it writes the number 0 now as 0 and now as +0, and generated files have
 * to come out the same every time.
 */

export function yaml(...documents: readonly object[]): string {
  return documents.map((document) => `${block(document, "").trimStart()}\n`).join("---\n");
}

/** The value as it stands behind `key:` or `-`, with the space or line break before it. */
function block(value: unknown, indent: string): string {
  if (Array.isArray(value)) return value.length === 0 ? " []" : listBlock(value, indent);
  if (typeof value === "object" && value !== null) return mapBlock(value, indent);
  return ` ${scalar(value)}`;
}

function listBlock(items: readonly unknown[], indent: string): string {
  return items.map((item) => `\n${indent}-${inline(block(item, `${indent}  `))}`).join("");
}

function mapBlock(map: object, indent: string): string {
  const entries = Object.entries(map).filter(([, value]) => value !== undefined);
  if (entries.length === 0) return " {}";
  return entries.map(([key, value]) => `\n${indent}${scalar(key)}:${block(value, `${indent}  `)}`).join("");
}

/** The first line of a block moves up behind its dash. */
function inline(text: string): string {
  return text.startsWith("\n") ? ` ${text.trimStart()}` : text;
}

const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./=()*-]*( [A-Za-z0-9_./=()*,;'-]+)*$/;
const WORDS = /^(true|false|yes|no|on|off|y|n|null|\.nan|\.inf)$/i;

function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);
}
