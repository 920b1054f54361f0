/**
 * The one error of everything that talks to a Valkey server: what was asked, why it failed, what to do. It names the
 * command and never its arguments, which may be passwords.
 */
export type ValkeyErrorCode =
  /** No connection could be made: there is no server, or it does not listen yet. */
  | "unreachable"
  /** The connection ended before the answer came: the server died or was told to end. */
  | "closed"
  /** No answer in time. */
  | "deadline"
  /** The caller's signal was aborted. */
  | "aborted"
  /** The login was refused. */
  | "auth"
  /** The server reads its data and answers little else. */
  | "loading"
  /** A script or function keeps the server from answering; it is alive. */
  | "busy"
  /** The server answered with another error. */
  | "refused"
  /** The answer was not what Valkey promises. */
  | "bad-response"
  /** The command was meant for another node than this one. */
  | "wrong-node"
  /** It would do harm to do this to the server as it is now. */
  | "unsafe";

export interface ValkeyErrorInit {
  readonly code: ValkeyErrorCode;
  /** `CLUSTER REPLICATE` */
  readonly action: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly cause?: unknown;
}

export class ValkeyError extends Error {
  override readonly name = "ValkeyError";
  readonly code: ValkeyErrorCode;
  readonly action: string;
  /** Without code, action and hint: what the server said, if it was the server. */
  readonly reason: string;

  constructor({ code, action, message, hint, cause }: ValkeyErrorInit) {
    super(`[${code}] ${action}: ${message}${hint === undefined ? "" : ` (${hint})`}`, { cause });
    this.code = code;
    this.action = action;
    this.reason = message;
  }
}

export function isValkeyError(error: unknown, ...codes: readonly ValkeyErrorCode[]): error is ValkeyError {
  return error instanceof ValkeyError && (codes.length === 0 || codes.includes(error.code));
}

/** The text of whatever was thrown, for a message that goes on. */
export function reasonOf(error: unknown): string {
  if (error instanceof ValkeyError) return error.reason;
  return error instanceof Error ? error.message : String(error);
}
