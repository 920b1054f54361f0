import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { parseReview, reviewAnswer } from "./admission-review.ts";

const kind = { group: "", version: "v1", kind: "ConfigMap" };
const resource = { group: "", version: "v1", resource: "configmaps" };
const request = { uid: "1", kind, resource, operation: "CREATE", userInfo: { username: "ann" }, object: { a: 1 } };
const review = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };

test("what the API server leaves out has its empty value", () => {
  const result = parseReview(JSON.stringify({ ...review, request: { ...request, oldObject: null } }));
  expect(result).toMatchObject({
    ok: true,
    request: { name: "", namespace: "", subResource: "", dryRun: false, oldObject: null, userInfo: { groups: [] } },
  });
});

test.each([
  ["", "the body is no JSON"],
  ["[]", "AdmissionReview"],
  ["null", "AdmissionReview"],
  [JSON.stringify({ ...review, apiVersion: "admission.k8s.io/v1beta1" }), "apiVersion"],
  [JSON.stringify({ ...review, request: undefined }), "request"],
  [JSON.stringify({ ...review, request: { ...request, uid: "" } }), "request.uid: must not be empty"],
  [JSON.stringify({ ...review, request: { ...request, operation: "EAT" } }), "request.operation"],
  [JSON.stringify({ ...review, request: { ...request, userInfo: { groups: "x" } } }), "request.userInfo.groups"],
])("%p is refused by the name of the field", (body, field) => {
  const result = parseReview(body);
  expect(result.ok ? "accepted" : result.reason).toContain(field);
});

test("no body makes the parser throw", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (body) => void parseReview(body)));
});

test("a refusal carries message, code and reason; a patch is base64", () => {
  const answer = (text: string): unknown => JSON.parse(text);
  expect(answer(reviewAnswer("7", { allowed: false, message: "no", warnings: ["w"] }))).toEqual({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: {
      uid: "7",
      allowed: false,
      warnings: ["w"],
      status: { status: "Failure", code: 403, reason: "Forbidden", message: "no" },
    },
  });
  const patch = [{ op: "add", path: "/a", value: 1 }] as const;
  expect(answer(reviewAnswer("7", { allowed: true, patch }))).toMatchObject({
    response: { allowed: true, patchType: "JSONPatch", patch: btoa(JSON.stringify(patch)) },
  });
});
