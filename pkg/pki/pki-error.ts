/** Something about keys or certificates that cannot be done or cannot be read. Never carries key material. */
export class PkiError extends Error {
  override readonly name = "PkiError";
}

/** The text of whatever was thrown, for a message that goes on. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
