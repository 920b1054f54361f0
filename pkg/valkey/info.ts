/** The text of INFO and CLUSTER INFO: `name:value` lines under `# Section` headings, and the few values we read of it. */
import { ValkeyError } from "./valkey-error.ts";

export type InfoFields = Pick<ReadonlyMap<string, string>, "get">;

/** The fields of a text, looked up in it when they are asked for: of a hundred and more, few are. Values may hold colons. */
export class InfoLines implements InfoFields {
  readonly #text: string;

  constructor(text: string) {
    this.#text = `\n${text}`;
  }

  get(name: string): string | undefined {
    const at = this.#text.indexOf(`\n${name}:`);
    return at === -1 ? undefined : this.#lineAt(at + name.length + 2);
  }

  /** The values of `name0`, `name1` and so on, in their order in the text. */
  numbered(name: string): readonly string[] {
    const values: string[] = [];
    const start = `\n${name}`;
    for (let at = this.#text.indexOf(start); at !== -1; at = this.#text.indexOf(start, at + 1)) {
      const line = this.#lineAt(at + 1);
      const colon = line.indexOf(":");
      if (/^\d+$/u.test(line.slice(name.length, colon))) values.push(line.slice(colon + 1));
    }
    return values;
  }

  #lineAt(begin: number): string {
    const text = this.#text;
    const next = text.indexOf("\n", begin);
    const end = next === -1 ? text.length : next;
    return text.slice(begin, text[end - 1] === "\r" ? end - 1 : end);
  }
}

export function parseInfo(text: string): InfoLines {
  return new InfoLines(text);
}

/** A whole number, negative ones included; undefined when the field is absent or is none. */
export function infoInteger(fields: InfoFields, name: string): bigint | undefined {
  const text = fields.get(name);
  return text !== undefined && /^-?\d{1,20}$/u.test(text) ? BigInt(text) : undefined;
}

/** A field that every version writes. */
export function infoText(fields: InfoFields, name: string): string {
  const text = fields.get(name);
  if (text !== undefined) return text;
  throw new ValkeyError({ code: "bad-response", action: "INFO", message: `the field ${name} is missing` });
}

/** `a=1,b=2` as in `slave0:ip=10.0.0.1,port=6379` and `db0:keys=3,expires=0`. */
export function parsePairs(text: string): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  for (const pair of text.split(",")) {
    const equals = pair.indexOf("=");
    if (equals > 0) pairs.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  return pairs;
}

/** Keys of all databases together. */
export function countKeys(fields: InfoLines): bigint {
  let keys = 0n;
  for (const value of fields.numbered("db")) keys += infoInteger(parsePairs(value), "keys") ?? 0n;
  return keys;
}

export interface InfoReplica {
  readonly ip: string;
  readonly port: number;
  readonly offset: bigint;
  /** `online` once it gets the stream. */
  readonly state: string;
  /** Since it last acknowledged. */
  readonly lagSeconds: number;
}

/** The replicas that a primary lists. */
export function infoReplicas(fields: InfoLines): readonly InfoReplica[] {
  return [...fields.numbered("slave"), ...fields.numbered("replica")].map((value) => {
    const pairs = parsePairs(value);
    return {
      ip: pairs.get("ip") ?? "",
      port: Number(infoInteger(pairs, "port") ?? 0n),
      offset: infoInteger(pairs, "offset") ?? 0n,
      state: pairs.get("state") ?? "",
      lagSeconds: Number(infoInteger(pairs, "lag") ?? 0n),
    };
  });
}
