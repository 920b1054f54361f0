/** What the operator reports about a ValkeyCluster. */
import * as v from "valibot";
import { MAX_MASTERS, MAX_PODS } from "./cluster-spec.ts";
import { conditions, observedGeneration } from "./condition.ts";
import { choice, flag, integer, list, listByKey, text, timestamp } from "./schema.ts";

const count = (about: string, max: number) => v.optional(integer(about, 0, max));

export const PHASES = [
  "Pending",
  "Running",
  "Updating",
  "Failed",
  "Backup",
  "Restore",
  "Suspended",
  "Unbound",
] as const;

const replica = v.object({
  name: text("Name of the ValkeyNode.", 63),
  lagBytes: v.optional(integer("Bytes of the primary's stream it has not yet got.", 0, Number.MAX_SAFE_INTEGER)),
  inSync: v.optional(flag("Whether it may be promoted.")),
});

const shard = v.object({
  index: integer("Number of the shard, from 0.", 0, MAX_MASTERS - 1),
  primary: v.optional(text("ValkeyNode that takes the writes; absent while there is none.", 63)),
  replicas: v.optional(list("The other nodes of the shard.", MAX_PODS, replica)),
  slots: v.optional(text("Ranges of slots it serves, for example 0-5461.", 16_384)),
  zone: v.optional(text("Zone of the primary.", 63)),
});

const planStep = v.object({
  step: text("What is being done.", 128),
  message: v.optional(text("To what, and why.", 1024)),
  progress: v.optional(integer("Percent done.", 0, 100)),
  since: v.optional(timestamp("When it began.")),
});

/** A named reason why nothing moves. */
export const hold = v.object({
  predicate: text("Name of the rule that holds the change back.", 128),
  message: text("What it waits for, and what releases it.", 1024),
  since: timestamp("When it began to hold."),
});

/** Something that a person should look at. */
const trouble = v.object({
  reason: text("One word, for programs.", 128),
  message: text("What is wrong, on which pods, and what to do.", 1024),
  severity: choice("error: does not work. warning: works, but not as it should. notice: nothing is wrong.", [
    "error",
    "warning",
    "notice",
  ]),
  nodes: v.optional(integer("How many ValkeyNodes it is about; absent for the whole cluster.", 1, 2 * MAX_PODS)),
});

const rollout = v.object({
  pods: integer("Pods that the spec asks for.", 0, MAX_PODS),
  updated: integer("Pods that are as the spec asks.", 0, MAX_PODS),
  next: v.optional(text("ValkeyNode whose turn it is.", 63)),
  changes: v.optional(text("What pods are replaced for.", 1024)),
  since: v.optional(timestamp("When it began.")),
});

const failover = v.object({
  id: text("Id of the request.", 63),
  shard: integer("Number of the shard.", 0, MAX_MASTERS - 1),
  from: v.optional(text("ValkeyNode that led.", 63)),
  to: v.optional(text("ValkeyNode that is to lead, or leads.", 63)),
  phase: choice("How far it is.", ["Pending", "Running", "Done", "Failed"]),
  writesWaitedMs: v.optional(
    integer("For how many milliseconds writes to the shard waited; absent when that is not known.", 0, 3_600_000),
  ),
  message: text("What came of it, in a sentence.", 1024),
  at: v.optional(timestamp("When it was asked for.")),
});

const tls = v.object({
  enabled: flag("Whether clients use TLS."),
  certificateStatus: v.optional(
    choice("State of the certificate in use.", ["Valid", "Expiring", "Expired", "Missing", "Invalid"]),
  ),
  notAfter: v.optional(timestamp("When it ends.")),
  thumbprint: v.optional(text("SHA-256 of the certificate that a handshake with every server showed last.", 64)),
});

const user = v.object({
  name: text("Name of the user.", 253),
  status: choice("Whether every node knows it.", ["Active", "Pending", "Error"]),
  message: v.optional(text("Why not.", 1024)),
});

const acl = v.object({
  enabled: flag("Whether there are users."),
  synced: v.optional(flag("Whether every node has the newest users.")),
  users: v.optional(listByKey("Users by name.", 256, ["name"], user)),
});

const exporter = v.object({
  enabled: flag("Whether the exporter runs."),
  metricsEndpoint: v.optional(text("Where Prometheus finds it.", 512)),
});

export const clusterStatus = v.pipe(
  v.object({
    phase: v.optional(choice("Summary in one word.", PHASES)),
    observedGeneration,
    reason: v.optional(text("Why this phase, in one word.", 128)),
    message: v.optional(text("Why this phase, in a sentence.", 1024)),
    masterCount: count("Shards that exist.", MAX_MASTERS),
    readyMasters: count("Shards whose primary serves.", MAX_MASTERS),
    pods: count("Pods that exist.", 2 * MAX_PODS),
    readyPods: count("Pods that are ready.", 2 * MAX_PODS),
    slotsAssigned: count("Slots that are served, of 16384.", 16_384),
    version: v.optional(text("Version that every server runs, or the lowest and the highest during an update.", 64)),
    selector: v.optional(
      text(
        "Label selector of one pod per shard, for the scale subresource: with all pods an autoscaler would take replicas for shards.",
        512,
      ),
    ),
    shards: v.optional(listByKey("Every shard.", MAX_MASTERS, ["index"], shard)),
    plan: v.optional(list("Steps under way.", 64, planStep)),
    holds: v.optional(list("What keeps further steps from being taken.", 64, hold)),
    rollout: v.optional(v.pipe(rollout, v.description("A rolling change; absent when every pod is as the spec asks."))),
    failover: v.optional(v.pipe(failover, v.description("The last failover that somebody asked for."))),
    troubles: v.optional(list("What a person should look at, the worst first.", 32, trouble)),
    tls: v.optional(v.pipe(tls, v.description("TLS towards clients."))),
    acl: v.optional(v.pipe(acl, v.description("Users."))),
    exporter: v.optional(v.pipe(exporter, v.description("Prometheus exporter."))),
    conditions,
  }),
  v.description("What the operator has found and is doing."),
);
export type ValkeyClusterStatus = v.InferOutput<typeof clusterStatus>;
