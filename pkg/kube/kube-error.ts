/** The one error of everything that talks to the API server: what was done to which object, why it failed, what to do. */
import * as v from "valibot";

export type KubeErrorCode =
  /** 404: the object, or the kind itself, does not exist. */
  | "not-found"
  /** 409 on create: an object of this name is there. */
  | "already-exists"
  /** 409 otherwise: a stale resourceVersion, a failed precondition, or fields that another manager owns. */
  | "conflict"
  /** 410: the resourceVersion or continue token is too old; list again. */
  | "expired"
  /** 422: the server's schema or an admission rule refused the object. */
  | "invalid"
  | "bad-request"
  | "unauthorized"
  | "forbidden"
  /** 429, also after waiting as long as the deadline allowed. */
  | "too-many-requests"
  /** Another 4xx or 5xx. */
  | "server-error"
  /** The deadline passed without an answer. */
  | "deadline"
  /** A watch was silent for longer than it may be. */
  | "idle"
  /** The caller's signal was aborted. */
  | "aborted"
  /** No connection, or it broke. */
  | "unreachable"
  /** The answer was not what the API promises. */
  | "bad-response"
  /** The kubeconfig or the credentials cannot be used. */
  | "config";

export interface KubeErrorInit {
  readonly code: KubeErrorCode;
  /** `apply StatefulSet default/cache` */
  readonly action: string;
  readonly message: string;
  /** The HTTP status; 0 when there was none. */
  readonly status?: number;
  /** The server's `reason`, such as `AlreadyExists`. */
  readonly reason?: string;
  readonly causes?: readonly StatusCause[];
  readonly hint?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

export interface StatusCause {
  readonly field: string;
  readonly message: string;
  readonly reason: string;
}

export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly code: KubeErrorCode;
  readonly action: string;
  readonly status: number;
  readonly reason: string;
  readonly serverMessage: string;
  readonly causes: readonly StatusCause[];
  readonly hint: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(init: KubeErrorInit) {
    const hint = init.hint === undefined ? "" : ` (${init.hint})`;
    super(`[${init.code}] ${init.action}: ${init.message}${hint}`, { cause: init.cause });
    this.code = init.code;
    this.action = init.action;
    this.status = init.status ?? 0;
    this.reason = init.reason ?? "";
    this.serverMessage = init.message;
    this.causes = init.causes ?? [];
    this.hint = init.hint;
    this.retryAfterMs = init.retryAfterMs;
  }
}

export function isKubeError(error: unknown, ...codes: readonly KubeErrorCode[]): error is KubeError {
  return error instanceof KubeError && (codes.length === 0 || codes.includes(error.code));
}

/** What `then` gives, or undefined when the object is not there. */
export async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isKubeError(error, "not-found")) return undefined;
    throw error;
  }
}

const Cause = v.object({
  field: v.optional(v.string(), ""),
  message: v.optional(v.string(), ""),
  reason: v.optional(v.string(), ""),
});

/** The server's own time limit answers with a Status that lacks its kind. */
const Status = v.object({
  kind: v.optional(v.literal("Status"), "Status"),
  message: v.string(),
  reason: v.optional(v.string(), ""),
  code: v.optional(v.number(), 0),
  details: v.optional(
    v.object({ retryAfterSeconds: v.optional(v.number()), causes: v.optional(v.array(Cause), []) }),
    {},
  ),
});

export interface FailedReply {
  readonly action: string;
  readonly status: number;
  /** The body as sent: a Status in JSON, or whatever a proxy in between wrote. */
  readonly body: string;
  readonly retryAfterMs?: number | undefined;
}

/** The error of an answer that is not 2xx. */
export function errorOfReply({ action, status, body, retryAfterMs }: FailedReply): KubeError {
  const { success, output: told } = v.safeParse(Status, parseJson(body));
  if (!success) {
    const code = codeOf(status, "");
    const message = `HTTP ${status} ${excerpt(body)}`.trimEnd();
    return new KubeError({ code, action, status, message, hint: hintOf(code), retryAfterMs });
  }
  const code = codeOf(status, told.reason);
  const seconds = told.details.retryAfterSeconds;
  return new KubeError({
    code,
    action,
    status,
    reason: told.reason,
    message: told.message || `HTTP ${status}`,
    causes: told.details.causes,
    hint: hintOf(code),
    retryAfterMs: retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000),
  });
}

/** The error of an ERROR frame in a watch. */
export function errorOfFrame(action: string, object: unknown): KubeError {
  const parsed = v.safeParse(Status, object);
  const status = parsed.success ? parsed.output.code : 0;
  return errorOfReply({ action, status, body: JSON.stringify(object) });
}

const CODES: Readonly<Record<number, KubeErrorCode>> = {
  400: "bad-request",
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  410: "expired",
  422: "invalid",
  429: "too-many-requests",
};

function codeOf(status: number, reason: string): KubeErrorCode {
  if (status === 409) return reason === "AlreadyExists" ? "already-exists" : "conflict";
  return CODES[status] ?? "server-error";
}

function hintOf(code: KubeErrorCode): string | undefined {
  if (code === "unauthorized") return "the credentials are missing, wrong or expired";
  if (code === "forbidden") return "grant this in the RBAC rules of the account in use";
  return undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: a proxy's page, or cut short. The raw text goes into the message instead.
    return undefined;
  }
}

function excerpt(text: string): string {
  const line = text.replaceAll(/\s+/gu, " ").trim();
  return line.length > 200 ? `${line.slice(0, 200)} …` : line;
}
