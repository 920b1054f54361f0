import { describe, expect, test } from "bun:test";
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import type { ClusterTable } from "../formation/view.ts";
import { planCluster } from "./plan.ts";
import { reportCluster } from "./status.ts";
import { clusterView, NOW, type ViewOptions } from "./test-view.ts";
import type { ClusterView, NodeNow } from "./view.ts";

function statusOf(view: ClusterView, failures: readonly string[] = []): ValkeyClusterStatus {
  return reportCluster({ view, plan: planCluster(view, NOW), failures, now: NOW }).status;
}

function words(status: ValkeyClusterStatus): Record<string, string> {
  return Object.fromEntries((status.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]));
}

/** The node has no pod and no agent any more. */
function without(name: string) {
  return (node: NodeNow): NodeNow =>
    node.name === name
      ? { ...node, pod: undefined, agent: { ...node.agent, contact: { known: "unreachable", why: "it has no pod" } } }
      : node;
}

/** Without a volume what a pod held is lost with it, and nobody waits for it. */
const VOLUME = { pvc: { storageSize: "1Gi" } };
/** What a table says of one other is changed. */
function knowing(table: ClusterTable, change: Partial<ClusterTable["nodes"][number]>): ClusterTable {
  return { ...table, nodes: table.nodes.map((known, at) => (at === 0 ? { ...known, ...change } : known)) };
}

const whole = statusOf(clusterView());
const after = (options: ViewOptions) => statusOf(clusterView({ status: whole, ...options }));

describe("a whole cluster", () => {
  test("is Running and Ready", () => {
    expect(whole).toMatchObject({ phase: "Running", reason: "AllShardsHealthy", observedGeneration: 4 });
    expect(whole.message).toBe("3 shards, 6 of 6 pods ready, 16384 slots served");
    expect(words(whole)).toMatchObject({ Ready: "True AllShardsHealthy", Degraded: "False AsWanted" });
  });

  test("shows its shards, its version and the selector of one pod per shard", () => {
    expect(whole).toMatchObject({ masterCount: 3, readyMasters: 3, pods: 6, readyPods: 6, slotsAssigned: 16_384 });
    expect(whole.shards?.[1]).toEqual({
      index: 1,
      primary: "shop-1-0",
      replicas: [{ name: "shop-1-1", inSync: true, lagBytes: 0 }],
      slots: "5462-10922",
      zone: "zone-1",
    });
    expect(whole.version).toBe("9.1.0");
    expect(whole.selector).toBe("valkey.io/cr=shop,valkey.io/member=0");
  });

  test("without users says plainly that it is open", () => {
    const open = whole.conditions?.find(({ type }) => type === "ACLSynced");
    expect(open).toMatchObject({ status: "False", reason: "Open" });
    expect(open?.message).toContain("the cluster is open: no password");
  });

  test("with TLS tells the certificate that handshakes showed, the one before it until all have shown the new one", () => {
    /** Agents tell "s" as the hash of what they applied. */
    const told = (thumbprint: string, wanted: string, status?: ValkeyClusterStatus) => {
      const { effective, desired, ...view } = clusterView(status === undefined ? {} : { status });
      if (desired.secrets === undefined) throw new Error("no secrets");
      return statusOf({
        ...view,
        effective: { ...effective, spec: { ...effective.spec, tls: "tls" } },
        desired: { ...desired, secrets: { ...desired.secrets, hash: wanted } },
        serverCertificate: { thumbprint, notAfter: NOW },
      });
    };
    const first = told("aa", "s");
    expect(first.tls).toMatchObject({ enabled: true, thumbprint: "aa" });
    expect(told("bb", "newer", first).tls?.thumbprint).toBe("aa");
    expect(told("bb", "s", first).tls?.thumbprint).toBe("bb");
  });

  test("keeps the time of a condition that did not turn", () => {
    const later = new Date(NOW.getTime() + 60_000);
    const view = clusterView({ status: whole });
    const { status } = reportCluster({ view, plan: planCluster(view, later), failures: [], now: later });
    expect(status.conditions).toEqual(whole.conditions);
  });
});

describe("a cluster that lacks something", () => {
  test("which it had, a replica, is Degraded and still Running", () => {
    const status = after({ change: without("shop-2-1") });
    expect(status).toMatchObject({ phase: "Running", reason: "ReplicasMissing", readyMasters: 3, readyPods: 5 });
    expect(words(status)).toMatchObject({ Ready: "False ReplicasMissing", Degraded: "True ReplicasMissing" });
  });

  test("which it had, a primary, has Failed and names the shard", () => {
    const status = after({ spec: VOLUME, change: without("shop-1-0") });
    expect(status).toMatchObject({ phase: "Failed", reason: "ShardsDown", readyMasters: 2 });
    expect(status.message).toStartWith("shard 1 serves no requests; ");
    expect(status.holds?.map(({ predicate }) => predicate)).toContain("member-unreachable");
  });

  const LINKED = "which it never had, nodes that all know each other";
  test.each([
    ["a link", (table: ClusterTable) => knowing(table, { connected: false })],
    ["the role of another", (table: ClusterTable) => knowing(table, { role: "replica" })],
    ["the newest epoch", (table: ClusterTable) => ({ ...table, currentEpoch: table.currentEpoch - 1 })],
  ])(`${LINKED}: without %s it is not Ready, and stays Ready without`, (_, change) => {
    const apart = (node: NodeNow): NodeNow => {
      const { contact } = node.agent;
      if (node.name !== "shop-1-0" || contact.known !== "answer" || contact.state.cluster === undefined) return node;
      const state = { ...contact.state, cluster: change(contact.state.cluster) };
      return { ...node, agent: { ...node.agent, contact: { ...contact, state } } };
    };
    const status = statusOf(clusterView({ change: apart }));
    expect(status).toMatchObject({ phase: "Pending", reason: "NodesMeeting", readyMasters: 3, readyPods: 6 });
    expect(status.message).toEndWith("; the nodes are finding each other");
    expect(words(status)).toMatchObject({ Ready: "False NodesMeeting", Progressing: "True Forming" });
    expect(words(after({ change: apart }))).toMatchObject({
      Ready: "True AllShardsHealthy",
      Degraded: "False AsWanted",
    });
  });

  test("which it never had, is Pending and not Degraded", () => {
    const status = statusOf(clusterView({ change: without("shop-1-0") }));
    expect(status).toMatchObject({ phase: "Pending", reason: "Forming" });
    expect(words(status)).toMatchObject({ Degraded: "False AsWanted", Progressing: "True Forming" });
  });
});

test("holds keep the time they began at", () => {
  const first = after({ spec: VOLUME, change: without("shop-1-0") });
  const began = { ...first, holds: first.holds?.map((hold) => ({ ...hold, since: "2026-04-01T00:00:00.000Z" })) };
  const second = statusOf(clusterView({ spec: VOLUME, status: began, change: without("shop-1-0") }));
  expect(second.holds?.[0]?.since).toBe("2026-04-01T00:00:00.000Z");
});

test("a command that an agent refuses again and again is shown with its words", () => {
  const refusing = (node: NodeNow): NodeNow => {
    const failure = { step: "follow", message: "it has keys of its own", times: 3 };
    return node.name === "shop-0-1" ? { ...node, agent: { ...node.agent, failure } } : node;
  };
  expect(after({ change: refusing }).holds).toMatchObject([
    { predicate: "agent-refuses", message: "follow of shop-0-1: it has keys of its own" },
  ]);
});

test("a repaired drift is shown for a while", () => {
  const drift = { what: "Service shop was deleted by somebody else and was made again", at: NOW };
  const view = { ...clusterView(), drift };
  expect(words(statusOf(view))["Drifted"]).toBe("True Repaired");
  const later = new Date(NOW.getTime() + 3_600_000);
  const { status } = reportCluster({ view, plan: planCluster(view, later), failures: [], now: later });
  expect(words(status)["Drifted"]).toBe("False AsWanted");
});

test("the largest cluster is planned quickly, and its status fits well into what etcd takes", () => {
  const view = clusterView({ spec: { masterCount: 500, replicasPerMaster: 1 } });
  // Of the processor's time: how busy the machine is otherwise says nothing about the plan.
  const began = process.cpuUsage();
  planCluster(view, NOW);
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1000).toBeLessThan(2000);
  expect(JSON.stringify(statusOf(view)).length).toBeLessThan(256 * 1024);
});
