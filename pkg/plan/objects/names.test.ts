import { describe, expect, test } from "bun:test";
import { MAX_CLUSTER_NAME } from "../../api/cluster.ts";
import { MAX_NODE_NAME } from "../../api/node.ts";
import { membersOf } from "./members.ts";
import { announcedHost, claimName, nodeLabels, nodeName, podHostname, serverDnsNames } from "./names.ts";

const cluster = { name: "shop", namespace: "prod" };
const longest = "c".repeat(MAX_CLUSTER_NAME);

describe("names", () => {
  test("the longest ones fit where Kubernetes puts them", () => {
    const node = nodeName(longest, { shard: 499, member: 999 });
    expect(node.length).toBeLessThanOrEqual(MAX_NODE_NAME);
    expect(podHostname(node).length).toBeLessThanOrEqual(63);
    expect(claimName(node).length).toBeLessThanOrEqual(253);
    for (const value of Object.values(nodeLabels(longest, { shard: 499, member: 999 }))) {
      expect(value.length).toBeLessThanOrEqual(63);
    }
  });

  test("what a server announces is held by its certificate", () => {
    const host = announcedHost(cluster, nodeName(cluster.name, { shard: 2, member: 1 }));
    expect(host).toBe("shop-2-1-0.shop-headless.prod.svc");
    expect(serverDnsNames(cluster)).toContain(`*${host.slice(host.indexOf("."))}`);
  });

  test("members are counted by shard, then by member", () => {
    expect(membersOf({ masterCount: 3, replicasPerMaster: 1 }).map((place) => nodeName("c", place))).toEqual([
      "c-0-0",
      "c-0-1",
      "c-1-0",
      "c-1-1",
      "c-2-0",
      "c-2-1",
    ]);
  });
});
