import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { NodeStateSchema, Role } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { reportView } from "./agent-reports.ts";
import { MACHINES, NODE_CLAIMS, NODE_PODS, NODE_STATEFUL_SETS } from "./resources.ts";

test("of a pod only the annotation that is asked for is kept", () => {
  const annotations = { "valkey.io/pod-revision": "abc", "kubectl.kubernetes.io/last-applied": "x".repeat(1000) };
  const pod = NODE_PODS.parse({ metadata: { name: "p", annotations }, spec: { containers: [{ name: "valkey" }] } });
  expect(pod.metadata.annotations).toEqual({ "valkey.io/pod-revision": "abc" });
  expect(pod.spec).toEqual({});
  expect(pod.status.phase).toBe("Pending");
});

test("what we apply is kept whole, or drift could not be seen", () => {
  const spec = { replicas: 1, selector: { matchLabels: { a: "b" } }, template: { spec: { containers: [] } } };
  expect(NODE_STATEFUL_SETS.parse({ metadata: { name: "s" }, spec, status: { replicas: 1 } })).toEqual({
    metadata: { name: "s" },
    spec,
  });
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, volumeName: "pv" };
  expect(NODE_CLAIMS.parse({ metadata: { name: "c" }, spec: claim }).spec).toEqual(claim);
});

test("of a Node its zone and whether it is well are kept", () => {
  const machine = MACHINES.parse({
    metadata: { name: "n", labels: { "topology.kubernetes.io/zone": "a", other: "x" } },
    spec: { podCIDR: "10.0.0.0/24" },
    status: { images: [{}], conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "now" }] },
  });
  expect(machine).toMatchObject({ zone: "a", taints: [], ready: { status: "True" } });
  expect(JSON.stringify(machine)).not.toContain("other");
});

test("an agent that knows little yet says none of it", () => {
  expect(reportView(create(NodeStateSchema, {}))).toEqual({
    nodeId: undefined,
    role: "none",
    version: undefined,
    configHash: undefined,
  });
  const state = create(NodeStateSchema, {
    server: { version: "9.1.2" },
    cluster: { nodeId: "abc", role: Role.REPLICA },
    applied: { configurationHash: "h" },
  });
  expect(reportView(state)).toEqual({ nodeId: "abc", role: "replica", version: "9.1.2", configHash: "h" });
});
