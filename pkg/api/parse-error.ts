/** The error of an object that does not fit its schema: every wrong field with its path. */
import * as v from "valibot";

export interface WrongField {
  /** As the API server writes it: `spec.tolerations[0].key`. */
  readonly field: string;
  readonly message: string;
}

export class ParseError extends Error {
  override readonly name = "ParseError";
  readonly fields: readonly WrongField[];

  constructor(which: string, issues: readonly v.BaseIssue<unknown>[], at: readonly string[]) {
    const fields = issues.map((issue) => ({ field: fieldPath(issue, at), message: issue.message }));
    super(`${which} does not fit its schema: ${fields.map(({ field, message }) => `${field}: ${message}`).join("; ")}`);
    this.fields = fields;
  }
}

function fieldPath(issue: v.BaseIssue<unknown>, at: readonly string[]): string {
  const keys = (issue.path ?? []).map(({ key }) => key);
  return [...at, ...keys].reduce<string>((path, key) => {
    if (typeof key === "number") return `${path}[${key}]`;
    return path === "" ? String(key) : `${path}.${String(key)}`;
  }, "");
}
