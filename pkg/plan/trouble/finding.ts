/** One thing that is wrong with one node, before equal ones are put together. */

export type Severity =
  /** Something does not work, and will not by itself. */
  | "error"
  /** It works, but not as it should. */
  | "warning"
  /** Nothing is wrong; somebody should know. */
  | "notice";

export interface Finding {
  /** One CamelCase word for programs. */
  readonly reason: string;
  readonly severity: Severity;
  /** Pod or node; empty for the whole cluster. */
  readonly subject: string;
  /** Name of the ValkeyNode; empty for the whole cluster. */
  readonly node: string;
  /** What is wrong, with nothing that differs from node to node: `image x of container valkey cannot be pulled`. */
  readonly what: string;
  /** The words of others. One of many is shown. */
  readonly detail?: string | undefined;
  /** What to do, as one or more sentences. */
  readonly fix: string;
}

const MAX_DETAIL = 300;

/**
 * Others' words on one line and short. Addresses lose their queries, in which registries and stores put signatures.
 */
export function quoted(text: string): string {
  const line = text
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/(https?:\/\/[^\s?"']+)\?[^\s"']*/gu, "$1")
    .trim();
  return line.length > MAX_DETAIL ? `${line.slice(0, MAX_DETAIL - 2)} …` : line;
}

/** Without the full stop at its end, so that it can stand inside a sentence. */
export function inner(text: string): string {
  return text.replace(/[.:;\s]+$/u, "");
}
