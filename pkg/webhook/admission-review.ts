/** AdmissionReview v1 as the API server sends it, read once at the edge, and the answer to it. */
import * as v from "valibot";

const optionalText = v.nullish(v.string(), "");
const GroupVersionKind = v.object({ group: v.string(), version: v.string(), kind: v.string() });
const GroupVersionResource = v.object({ group: v.string(), version: v.string(), resource: v.string() });

const UserInfo = v.object({
  username: optionalText,
  uid: optionalText,
  groups: v.nullish(v.array(v.string()), []),
  extra: v.nullish(v.record(v.string(), v.array(v.string())), {}),
});

const AdmissionRequestSchema = v.object({
  uid: v.pipe(v.string(), v.nonEmpty("must not be empty")),
  kind: GroupVersionKind,
  resource: GroupVersionResource,
  subResource: optionalText,
  operation: v.picklist(["CREATE", "UPDATE", "DELETE", "CONNECT"]),
  /** Empty for a CREATE with generateName. */
  name: optionalText,
  /** Empty for cluster-wide kinds. */
  namespace: optionalText,
  userInfo: UserInfo,
  object: v.nullish(v.unknown(), null),
  oldObject: v.nullish(v.unknown(), null),
  options: v.nullish(v.unknown(), null),
  /** With a dry run nothing may be changed anywhere. */
  dryRun: v.nullish(v.boolean(), false),
});

const ReviewSchema = v.object({
  apiVersion: v.literal("admission.k8s.io/v1"),
  kind: v.literal("AdmissionReview"),
  request: AdmissionRequestSchema,
});

export type AdmissionRequest = v.InferOutput<typeof AdmissionRequestSchema>;

export interface PatchOperation {
  readonly op: "add" | "remove" | "replace" | "test" | "move" | "copy";
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

export type AdmissionDecision =
  | {
      readonly allowed: true;
      /** Shown to the user by kubectl. */
      readonly warnings?: readonly string[];
      /** JSON patch; only for a mutating webhook. */
      readonly patch?: readonly PatchOperation[];
    }
  | {
      readonly allowed: false;
      /** What is wrong and what would be right. */
      readonly message: string;
      /** HTTP status of the refusal. Defaults to 403; 429 makes clients come back. */
      readonly code?: number;
      readonly reason?: string;
      readonly warnings?: readonly string[];
    };

export type ReviewResult =
  | { readonly ok: true; readonly request: AdmissionRequest }
  | { readonly ok: false; readonly reason: string };

export function parseReview(body: string): ReviewResult {
  const json = parseJson(body);
  if (!json.ok) return json;
  const result = v.safeParse(ReviewSchema, json.value, { abortEarly: true });
  if (result.success) return { ok: true, request: result.output.request };
  const [issue] = result.issues;
  const field = v.getDotPath(issue) ?? "the body";
  return { ok: false, reason: `this is no AdmissionReview of admission.k8s.io/v1: ${field}: ${issue.message}` };
}

export function reviewAnswer(uid: string, decision: AdmissionDecision): string {
  return JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: {
      uid,
      allowed: decision.allowed,
      warnings: decision.warnings,
      ...(decision.allowed ? patchOf(decision) : { status: refusal(decision) }),
    },
  });
}

/** What the API server shows of a call that failed; its failurePolicy decides what becomes of the request. */
export function statusAnswer(code: number, reason: string, message: string): string {
  return JSON.stringify({ apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure", code, reason, message });
}

function patchOf({ patch }: Extract<AdmissionDecision, { allowed: true }>): object {
  if (patch === undefined) return {};
  return { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(patch)).toString("base64") };
}

function refusal({
  code = 403,
  reason = "Forbidden",
  message,
}: Extract<AdmissionDecision, { allowed: false }>): object {
  return { status: "Failure", code, reason, message };
}

function parseJson(body: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    return { ok: true, value: JSON.parse(body) };
  } catch {
    return { ok: false, reason: "the body is no JSON" };
  }
}
