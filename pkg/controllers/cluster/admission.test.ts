import { expect, test } from "bun:test";
import { BUILT_IN_DEFAULTS } from "../../api/defaults.ts";
import { resolveSpec } from "../../api/resolve.ts";
import type { AdmissionRequest } from "../../webhook/admission-review.ts";
import { admitCluster } from "./admission.ts";

const deps = { resolve: (spec: object) => resolveSpec(BUILT_IN_DEFAULTS, undefined, undefined, spec) };

function cluster(spec: object, metadata: object = {}, status?: object) {
  return {
    apiVersion: "valkey.io/v1alpha1",
    kind: "ValkeyCluster",
    metadata: { name: "c", ...metadata },
    spec,
    ...(status === undefined ? {} : { status }),
  };
}

const PERSON = { username: "somebody", uid: "", groups: [], extra: {} };

function ask(operation: AdmissionRequest["operation"], rest: Partial<AdmissionRequest>) {
  const request: AdmissionRequest = {
    uid: "1",
    kind: { group: "valkey.io", version: "v1alpha1", kind: "ValkeyCluster" },
    resource: { group: "valkey.io", version: "v1alpha1", resource: "valkeyclusters" },
    subResource: "",
    operation,
    name: "c",
    namespace: "team",
    userInfo: PERSON,
    object: null,
    oldObject: null,
    options: null,
    dryRun: false,
    ...rest,
  };
  return admitCluster(request, deps);
}

const PROTECTED = { annotations: { "valkey.io/deletion-protection": "true" } };

test("a protected cluster is not deleted, and the way to lift it is told", () => {
  expect(ask("DELETE", { oldObject: cluster({}, PROTECTED) })).toEqual({
    allowed: false,
    message:
      "ValkeyCluster team/c is protected against deletion by its annotation valkey.io/deletion-protection; to delete it, first lift the protection with: kubectl annotate valkeycluster c -n team valkey.io/deletion-protection-",
  });
});

test("a namespace that goes takes a protected cluster with it, and a second deletion changes nothing", () => {
  const username = "system:serviceaccount:kube-system:namespace-controller";
  expect(ask("DELETE", { oldObject: cluster({}, PROTECTED), userInfo: { ...PERSON, username } }).allowed).toBe(true);
  const going = cluster({}, { ...PROTECTED, deletionTimestamp: "2026-11-16T12:00:00Z" });
  expect(ask("DELETE", { oldObject: going })).toEqual({ allowed: true });
});

test("who deletes is told what becomes of the volumes", () => {
  const spec = { pvc: { storageSize: "1Gi" } };
  const kept = ask("DELETE", { oldObject: cluster(spec) });
  expect(kept.warnings).toEqual([
    "the volumes of team/c are kept; to be rid of them: kubectl delete pvc -l valkey.io/cr=c -n team",
  ]);
  const gone = ask("DELETE", { oldObject: cluster({ pvc: { ...spec.pvc, whenDeleted: "Delete" } }) });
  expect(gone.warnings).toEqual([
    "spec.pvc.whenDeleted is Delete: the volumes of team/c are deleted with all their data",
  ]);
  expect(ask("DELETE", { oldObject: cluster({}) })).toEqual({ allowed: true, warnings: [] });
  expect(ask("DELETE", { oldObject: cluster({ masterCount: "x" }) })).toEqual({ allowed: true, warnings: [] });
});

test("a change that will be held back is told at once, for a cluster that runs", () => {
  const [before, after] = [
    { masterCount: 3, acl: "a", pvc: { storageSize: "1Gi" } },
    { masterCount: 5, acl: "a", pvc: { storageSize: "1Gi" } },
  ];
  const running = cluster(before, {}, { phase: "Running" });
  expect(ask("UPDATE", { oldObject: running, object: cluster(after) }).warnings).toEqual([
    expect.stringContaining("spec.masterCount"),
  ]);
  expect(ask("UPDATE", { oldObject: cluster(before), object: cluster(after) }).warnings).toEqual([]);
  expect(ask("UPDATE", { oldObject: running, object: running })).toEqual({ allowed: true });
});

test("what cannot be read is refused, but never kept from going", () => {
  const wrong = { masterCount: 1 };
  expect(ask("CREATE", { object: cluster(wrong) })).toMatchObject({ allowed: false, code: 422 });
  expect(ask("UPDATE", { oldObject: cluster(wrong), object: cluster({}) }).allowed).toBe(true);
  const going = cluster(wrong, { deletionTimestamp: "2026-11-16T12:00:00Z" });
  expect(ask("UPDATE", { oldObject: going, object: going })).toEqual({ allowed: true });
});
