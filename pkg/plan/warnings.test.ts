import { expect, test } from "bun:test";
import type { ValkeyClusterSpec } from "../api/cluster-spec.ts";
import { resolved } from "./lifecycle/test-spec.ts";
import { heldWarnings, warningsOf } from "./warnings.ts";

const KEPT: ValkeyClusterSpec = { acl: "team", pvc: { storageSize: "1Gi" } };
const warnings = (spec: ValkeyClusterSpec) => warningsOf(spec, resolved(spec));

test("an ordinary spec has no warning", () => {
  expect(warnings({ ...KEPT, masterCount: 3, replicasPerMaster: 1 })).toEqual([]);
});

test("what will bite later is said", () => {
  expect(warnings({ ...KEPT, replicasPerMaster: 0 })[0]).toContain("its only pod");
  expect(warnings({ ...KEPT, cluster: { migrationBarrier: 1 } })[0]).toContain("no effect");
  expect(warnings({ ...KEPT, update: { strategy: "Surge" } })[0]).toContain("like Rolling");
  expect(warnings({ acl: "team", backup: { aof: { enabled: true } } })[0]).toContain("no spec.pvc");
  expect(warnings({ ...KEPT, replicasPerMaster: 1, replication: { minReplicasToWrite: 2 } })[0]).toContain("no write");
  expect(warnings({ acl: "team" })[0]).toContain("takes its copy");
  expect(warnings({ acl: "team", suspended: true }).join()).toContain("all data is lost");
});

test("an open cluster is said to be open, unless a default closes it", () => {
  expect(warnings({ pvc: { storageSize: "1Gi" } })[0]).toContain("the cluster is open");
  expect(warningsOf({}, resolved(KEPT))).toEqual([]);
});

test("what this release cannot change is said when it is asked for", () => {
  const before = resolved({ ...KEPT, tls: "secure" });
  const after = resolved({ masterCount: 5, acl: "other", pvc: { storageSize: "2Gi" }, config: { "io-threads": "2" } });
  expect(heldWarnings(before, before)).toEqual([]);
  expect(heldWarnings(before, after).map((text) => text.split(":")[0] ?? "")).toEqual([
    "spec.masterCount",
    "spec.tls",
    "spec.acl",
  ]);
  for (const text of [...heldWarnings(before, after), ...warnings({})]) expect(text.length).toBeLessThanOrEqual(256);
});
