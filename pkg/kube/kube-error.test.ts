import { expect, test } from "bun:test";
import { errorOfFrame, errorOfReply, isKubeError, unlessMissing } from "./kube-error.ts";

const action = "create Pod default/x";

function statusBody(fields: object): string {
  return JSON.stringify({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", ...fields });
}

test("an error says what was done to which object and why the server refused", () => {
  const causes = [{ field: "spec.replicas", message: "must be positive", reason: "FieldValueInvalid" }];
  const body = statusBody({ message: "Pod x is invalid", reason: "Invalid", code: 422, details: { causes } });
  const error = errorOfReply({ action, status: 422, body });
  expect(error.message).toBe("[invalid] create Pod default/x: Pod x is invalid");
  expect(error).toMatchObject({ code: "invalid", status: 422, reason: "Invalid", causes });
});

test("409 is two things", () => {
  const of = (reason: string) => errorOfReply({ action, status: 409, body: statusBody({ message: "m", reason }) }).code;
  expect(of("AlreadyExists")).toBe("already-exists");
  expect(of("Conflict")).toBe("conflict");
});

test("the server's time limit answers with a Status that does not name its kind", () => {
  const body = JSON.stringify({
    metadata: {},
    status: "Failure",
    message: "Timeout: too long",
    reason: "Timeout",
    code: 504,
  });
  expect(errorOfReply({ action, status: 504, body })).toMatchObject({
    code: "server-error",
    serverMessage: "Timeout: too long",
  });
});

test("what a proxy in between wrote is shown in one line, cut to a sane length", () => {
  const error = errorOfReply({ action, status: 502, body: `<html>\n  <b>Bad Gateway</b>${" x".repeat(500)}` });
  expect(error.message).toStartWith("[server-error] create Pod default/x: HTTP 502 <html> <b>Bad Gateway</b>");
  expect(error.message.length).toBeLessThan(300);
  expect(errorOfReply({ action, status: 403, body: "" }).message).toContain("RBAC");
});

test("an ERROR frame of a watch is the same kind of error", () => {
  const object: unknown = JSON.parse(statusBody({ message: "too old", reason: "Expired", code: 410 }));
  expect(errorOfFrame("watch pods", object)).toMatchObject({ code: "expired", status: 410 });
  expect(errorOfFrame("watch pods", "nonsense").code).toBe("server-error");
});

test("the wait that the server asks for is kept, of header or body", () => {
  const body = statusBody({ message: "busy", reason: "TooManyRequests", code: 429, details: { retryAfterSeconds: 3 } });
  expect(errorOfReply({ action, status: 429, body }).retryAfterMs).toBe(3000);
  expect(errorOfReply({ action, status: 429, body, retryAfterMs: 1000 }).retryAfterMs).toBe(1000);
});

test("a missing object can be a value", async () => {
  const missing = errorOfReply({ action, status: 404, body: statusBody({ message: "not found", reason: "NotFound" }) });
  expect(await unlessMissing(Promise.reject(missing))).toBeUndefined();
  expect(isKubeError(missing, "not-found", "conflict")).toBe(true);
  expect(isKubeError(missing, "conflict")).toBe(false);
});
