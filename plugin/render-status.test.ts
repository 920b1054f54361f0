import { expect, test } from "bun:test";
import { CLUSTERS } from "./cluster-objects.ts";
import { pictureOf } from "./picture.ts";
import { renderStatus } from "./render-status.ts";
import { statusJson, statusLines } from "./status.ts";
import { clusterPicture, NOW } from "./test-picture.ts";

const PLAIN = { color: false, width: 80 };

test("a healthy cluster is told in a few lines", () => {
  expect(renderStatus(clusterPicture({ shards: 3, replicas: 1 }), PLAIN, NOW)).toBe(
    `team/cache
  Running: 3 shards, 6 of 6 pods ready, 16384 slots served
  shards   3 of 3 serve
  pods     6 of 6 ready
  slots    16384 of 16384 served
  version  9.1.2
  TLS      off
  users    none: whoever reaches the port may do everything

Conditions
  Ready        True   30s  AllShardsHealthy
  Progressing  False  30s  Settled
  Degraded     False  30s  AsExpected`,
  );
});

const troubled = clusterPicture({
  shards: 3,
  replicas: 0,
  status: {
    phase: "Pending",
    message: "waits for 1 of 3 pods",
    readyPods: 2,
    readyMasters: 2,
    slotsAssigned: 10_923,
    version: undefined,
    tls: { enabled: true, certificateStatus: "Valid", notAfter: "2027-02-14T00:00:00Z" },
    acl: { enabled: true, synced: false, users: [{ name: "app", status: "Pending" }] },
    conditions: [
      { type: "Ready", status: "False", reason: "ShardsDown", message: "1 of 3 shards has no primary" },
      { type: "Drifted", status: "Unknown", reason: "NotKnown" },
    ],
    plan: [{ step: "form-shards", message: "shard 1 waits", progress: 66, since: "2026-11-16T12:09:00Z" }],
    holds: [
      {
        predicate: "shards-are-fixed",
        message:
          "3 shards run, spec.masterCount asks for 5: this release cannot change the number of shards of a running cluster",
        since: "2026-11-16T12:00:00Z",
      },
    ],
    troubles: [
      {
        reason: "ImageCannotBePulled",
        severity: "error",
        nodes: 1,
        message: "image x cannot be pulled. Correct spec.valkeyImage.",
      },
    ],
  },
});

test("what is wrong, under way and held back is told with what to do", () => {
  expect(renderStatus(troubled, PLAIN, NOW)).toBe(
    `team/cache
  Pending: waits for 1 of 3 pods
  shards  2 of 3 serve
  pods    2 of 3 ready
  slots   10923 of 16384 served
  TLS     on, certificate valid until 2027-02-14
  users   1 user, not yet on every node

Conditions
  Ready    False      ShardsDown
  Drifted  Unknown    NotKnown
  Ready: 1 of 3 shards has no primary

Under way
  form-shards 66 %, for 60s
    shard 1 waits

Held back
  shards-are-fixed, for 10m
    3 shards run, spec.masterCount asks for 5: this release cannot change the
    number of shards of a running cluster

Trouble
  error ImageCannotBePulled on 1 node
    image x cannot be pulled. Correct spec.valkeyImage.`,
  );
});

test("a cluster that nobody has looked at says so", () => {
  const picture = pictureOf({
    cluster: CLUSTERS.parse({ metadata: { name: "new", namespace: "team", generation: 1 }, spec: {} }),
    nodes: [],
    pods: undefined,
  });
  expect(renderStatus(picture, PLAIN, NOW)).toBe(
    `team/new
  Pending

To do
  The operator has not looked at this cluster yet. Is it running? kubectl valkey version`,
  );
  expect(picture.healthy).toBe(false);
});

test("Ready of an older spec does not count", () => {
  const old = clusterPicture({ shards: 3, replicas: 0, status: { observedGeneration: 1 } });
  expect(old.healthy).toBe(false);
  expect(renderStatus(old, PLAIN, NOW)).toContain("has not seen the newest spec");
});

test("a suspended cluster says how to resume it", () => {
  const picture = clusterPicture({ shards: 3, replicas: 0, status: { phase: "Suspended", conditions: [] } });
  expect(renderStatus(picture, PLAIN, NOW)).toContain('{"spec":{"suspended":false}}');
});

test("as JSON it is the status with a verdict, and as lines what changes", () => {
  expect(statusJson(troubled)).toMatchObject({ name: "cache", healthy: false, observed: true, readyPods: 2 });
  expect(statusLines(troubled)).toEqual([
    "Pending: waits for 1 of 3 pods",
    "2 of 3 pods ready, 10923 slots served",
    "under way: form-shards shard 1 waits",
    "held back: shards-are-fixed: 3 shards run, spec.masterCount asks for 5: this release cannot change the number of shards of a running cluster",
    "error: ImageCannotBePulled: image x cannot be pulled. Correct spec.valkeyImage.",
  ]);
});

test("what an operator of another release says does not break the picture", () => {
  const cluster = CLUSTERS.parse({
    metadata: { name: "c", namespace: "n", generation: 1 },
    spec: { suspended: "later" },
    status: {
      phase: "Dancing",
      pods: "many",
      shards: [{ index: "a" }],
      conditions: "none",
      tls: 1,
      troubles: [{ reason: 1 }],
    },
  });
  expect(renderStatus(pictureOf({ cluster, nodes: [], pods: [] }), PLAIN, NOW)).toContain("Dancing");
});
