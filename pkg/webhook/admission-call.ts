/**
 * One admission call from its HTTP request to its answer. Whatever happens (a handler that throws or hangs, a body that
 * is none) there is an answer in time that says what went wrong. Such an answer is an HTTP error and no refusal: the
 * failurePolicy of the webhook, not an accident of ours, decides whether the request passes.
 */
import type { Readable } from "node:stream";
import type { Logger } from "../log/log.ts";
import {
  type AdmissionDecision,
  type AdmissionRequest,
  parseReview,
  reviewAnswer,
  statusAnswer,
} from "./admission-review.ts";
import { callBudget } from "./call-deadline.ts";
import { type BodyMemory, type BodyProblem, readBody } from "./request-body.ts";

/** The signal ends when the caller's patience does: what waits must wait on it. */
export type AdmissionHandler = (
  request: AdmissionRequest,
  signal: AbortSignal,
) => AdmissionDecision | Promise<AdmissionDecision>;

export type Outcome = "allowed" | "denied" | "bad-request" | "handler-failed" | "deadline";

export interface Answer {
  readonly code: number;
  readonly body: string;
  readonly outcome: Outcome;
}

/** What of an HTTP request matters here, in HTTP/1.1 and HTTP/2 alike. */
export interface Call {
  readonly method: string;
  readonly contentType: string;
  readonly url: URL;
  readonly body: Readable;
}

export interface CallRules {
  readonly handlers: ReadonlyMap<string, AdmissionHandler>;
  readonly memory: BodyMemory;
  readonly log: Logger;
}

export async function answerCall(call: Call, rules: CallRules): Promise<Answer> {
  const handler = rules.handlers.get(call.url.pathname);
  if (handler === undefined) return bad(404, "NotFound", `no webhook is served at ${call.url.pathname.slice(0, 100)}`);
  if (call.method !== "POST") return bad(405, "MethodNotAllowed", "webhooks are called with POST");
  if (!/^application\/json(;|$)/i.test(call.contentType)) {
    return bad(415, "UnsupportedMediaType", "the content type must be application/json");
  }
  const budget = callBudget(call.url.searchParams.get("timeout"));
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new Error(`no answer within ${budget} ms`)), budget);
  try {
    return await reviewed(call, { ...rules, handler, budget, signal: deadline.signal });
  } finally {
    clearTimeout(timer);
    deadline.abort(new Error("the call is over"));
  }
}

interface Review extends CallRules {
  readonly handler: AdmissionHandler;
  readonly budget: number;
  readonly signal: AbortSignal;
}

async function reviewed(call: Call, review: Review): Promise<Answer> {
  return review.memory.share(async (take) => {
    const body = await readBody(call.body, take, review.signal);
    if (!body.ok) return unreadable(body.problem, review.memory.limit);
    const parsed = parseReview(body.text);
    if (!parsed.ok) return bad(400, "BadRequest", parsed.reason);
    return decided(parsed.request, call.url.pathname, review);
  });
}

const LATE = Symbol("late");

async function decided(request: AdmissionRequest, path: string, review: Review): Promise<Answer> {
  const about = { path, uid: request.uid, operation: request.operation, kind: request.kind.kind };
  const late = new Promise<typeof LATE>((resolve) => {
    review.signal.addEventListener("abort", () => resolve(LATE), { once: true });
  });
  try {
    const decision = await Promise.race([invoke(request, review), late]);
    if (decision !== LATE) return answerOf(request.uid, decision);
    review.log.error({ ...about, budgetMs: review.budget }, "webhook handler did not decide in time");
    const message = `the webhook ${path} could not decide within ${review.budget} ms; try again, or look at the operator's log`;
    return { code: 504, outcome: "deadline", body: statusAnswer(504, "Timeout", message) };
  } catch (error) {
    review.log.error({ ...about, err: error }, "webhook handler failed");
    const message = `the webhook ${path} failed on this object: ${textOf(error)}; this is an error of the operator, not of the object`;
    return { code: 500, outcome: "handler-failed", body: statusAnswer(500, "InternalError", message) };
  }
}

/** async, so that a throw before the first await is a rejection like any other. */
async function invoke(request: AdmissionRequest, { handler, signal }: Review): Promise<AdmissionDecision> {
  return handler(request, signal);
}

function answerOf(uid: string, decision: AdmissionDecision): Answer {
  return { code: 200, outcome: decision.allowed ? "allowed" : "denied", body: reviewAnswer(uid, decision) };
}

function unreadable(problem: BodyProblem, limit: number): Answer {
  switch (problem) {
    case "too-large":
      return bad(413, "RequestEntityTooLarge", `the body is larger than ${limit} bytes`);
    case "busy":
      return bad(429, "TooManyRequests", "too many calls at once, try again");
    case "deadline":
      return bad(408, "Timeout", "the body did not arrive in time");
    case "cut-off":
      return bad(400, "BadRequest", "the body was cut off");
    default:
      return problem satisfies never;
  }
}

export function bad(code: number, reason: string, message: string): Answer {
  return { code, outcome: "bad-request", body: statusAnswer(code, reason, message) };
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 500);
}
