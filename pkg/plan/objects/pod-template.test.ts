import { describe, expect, test } from "bun:test";
import type { ValkeyClusterSpec } from "../../api/cluster-spec.ts";
import { CLUSTER, OPERATOR, resolved, tlsSpec } from "./fixtures.ts";
import { graceSeconds, podRevisionOf, podTemplateOf } from "./pod-template.ts";
import { refusedSecurity } from "./security.ts";
import { wireOf } from "./wire.ts";

function input(spec: ValkeyClusterSpec = {}, operator = OPERATOR) {
  return { cluster: CLUSTER, spec: resolved(spec), operator, wire: wireOf(undefined), place: { shard: 1, member: 2 } };
}

function pod(spec: ValkeyClusterSpec = {}) {
  return podTemplateOf(input(spec));
}

function container(spec: ValkeyClusterSpec, name: string) {
  const { containers, initContainers = [] } = pod(spec).spec;
  return [...initContainers, ...containers].find((each) => each.name === name);
}

describe("the pod", () => {
  test("agent before server, one user, no token, no root file system to write to", () => {
    const { spec } = pod();
    expect(spec.initContainers?.map(({ name, restartPolicy }) => [name, restartPolicy])).toEqual([["agent", "Always"]]);
    expect(spec.containers.map(({ name }) => name)).toEqual(["valkey", "exporter"]);
    expect(spec).toMatchObject({
      shareProcessNamespace: true,
      automountServiceAccountToken: false,
      hostname: "shop-1-2-0",
      subdomain: "shop-headless",
      securityContext: { runAsUser: 1000, runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    });
    for (const each of [...(spec.initContainers ?? []), ...spec.containers]) {
      expect(each.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
    }
  });

  test("the server is started when the agent says that its gate is made", () => {
    const agent = container({}, "agent");
    expect(agent?.lifecycle?.postStart?.exec?.command).toEqual(["/usr/local/bin/valkey-sidecar", "await-start"]);
    expect(agent?.startupProbe).toBeUndefined();
  });

  test("the server has no liveness probe, and hands over before it ends", () => {
    const valkey = container({}, "valkey");
    expect(valkey?.livenessProbe).toBeUndefined();
    expect(valkey?.readinessProbe?.httpGet?.path).toBe("/readyz");
    expect(valkey?.lifecycle?.preStop?.exec?.command).toEqual([
      "valkey-cli",
      "-s",
      "/run/valkey/agent.sock",
      "HANDOVER",
    ]);
  });

  test("only the agent sees the boot copies", () => {
    const mounts = (name: string) => container({}, name)?.volumeMounts?.map((mount) => mount.mountPath);
    expect(mounts("agent")).toContain("/etc/valkey-agent/identity");
    expect(mounts("valkey")).toEqual(["/run/valkey", "/data"]);
    expect(mounts("exporter")).toEqual(["/run/valkey/socket"]);
  });

  test("the exporter is another user of the same group, so that /proc shows it no files of the others", () => {
    const user = (securityContext: ValkeyClusterSpec["securityContext"]) =>
      container(securityContext === undefined ? {} : { securityContext }, "exporter")?.securityContext?.runAsUser;
    expect(user(undefined)).toBe(1001);
    expect(user({ runAsUser: 999 })).toBe(1000);
    expect(container({}, "valkey")?.securityContext?.runAsUser).toBeUndefined();
  });

  test("the agent is told the server's memory limit in bytes, and 0 when there is none", () => {
    const limit = (spec: ValkeyClusterSpec) =>
      container(spec, "agent")?.env?.find(({ name }) => name === "MEMORY_LIMIT")?.value;
    expect(limit({})).toBe("1073741824");
    expect(limit({ resources: {} })).toBe("0");
  });

  test("the time to end grows with what has to be saved, up to an hour", () => {
    const grace = (memory: string) => graceSeconds(resolved({ resources: { limits: { memory } } }));
    expect([grace("1Gi"), grace("64Gi"), grace("1Ti")]).toEqual([51, 1341, 3600]);
    expect(graceSeconds(resolved({ resources: {} }))).toBe(630);
  });

  test("our labels win, the user's are added", () => {
    const { labels, annotations } = pod({
      labels: { team: "blue", "app.kubernetes.io/name": "mine" },
      annotations: { note: "x" },
    });
    expect(labels).toMatchObject({ team: "blue", "app.kubernetes.io/name": "valkey", "valkey.io/node": "shop-1-2" });
    expect(annotations).toEqual({ note: "x", "valkey.io/cr": "ValkeyCluster/shop" });
  });

  test("every field about where and how it runs reaches the pod", () => {
    const spec = pod({
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "infra", operator: "Exists" }],
      priorityClassName: "high",
      serviceAccountName: "valkey",
      securityContext: { runAsUser: 999, supplementalGroups: [5] },
      valkeyImage: { name: "a/b", tag: "9", imagePullSecrets: [{ name: "one" }] },
      sidecarImage: { name: "mirror/agent", imagePullSecrets: [{ name: "one" }, { name: "two" }] },
      exporter: { enabled: false },
      pvc: { storageSize: "1Gi" },
    }).spec;
    expect(spec).toMatchObject({
      nodeSelector: { disk: "ssd" },
      tolerations: [{ key: "infra", operator: "Exists" }],
      priorityClassName: "high",
      serviceAccountName: "valkey",
      securityContext: { runAsUser: 999, runAsGroup: 1000, supplementalGroups: [5] },
      imagePullSecrets: [{ name: "one" }, { name: "two" }],
    });
    expect(spec.containers.map(({ image }) => image)).toEqual(["a/b:9"]);
    expect(spec.initContainers?.[0]?.image).toBe("mirror/agent:0.1.0");
    expect(spec.volumes?.find(({ name }) => name === "data")?.persistentVolumeClaim?.claimName).toBe("shop-1-2-data");
  });

  test("the exporter logs in only when there are users", () => {
    expect(container({}, "exporter")?.env).toBeUndefined();
    expect(container({ acl: "users" }, "exporter")?.env?.map(({ name }) => name)).toEqual([
      "REDIS_USER",
      "REDIS_PASSWORD",
    ]);
  });

  test("with TLS the ports are those of the ValkeyClusterTls", () => {
    const wire = wireOf(tlsSpec({ tlsPort: 6380, disableNonTlsPort: false }));
    const { spec } = podTemplateOf({ ...input(), wire });
    const valkey = spec.containers.find(({ name }) => name === "valkey");
    expect(valkey?.ports?.map(({ containerPort }) => containerPort)).toEqual([6380, 16_380, 6379]);
  });
});

describe("the revision", () => {
  test("a new release of the operator replaces no pod", () => {
    const newer = { ...OPERATOR, version: "0.2.0", sidecarImage: "registry.example:5000/valkey-sidecar:0.2.0" };
    expect(podRevisionOf(input({}, newer))).toBe(podRevisionOf(input()));
  });

  test.each<[string, ValkeyClusterSpec]>([
    ["image", { valkeyImage: { tag: "8.1" } }],
    ["agent's image, when the user names it", { sidecarImage: { tag: "0.2.0" } }],
    ["resources", { resources: { limits: { memory: "2Gi" } } }],
    ["security context", { securityContext: { runAsUser: 999 } }],
    ["labels", { labels: { a: "b" } }],
    ["annotations", { annotations: { a: "b" } }],
    ["exporter", { exporter: { enabled: false } }],
    ["zones", { azDistribution: { zones: ["a"] } }],
    ["node selector", { nodeSelector: { a: "b" } }],
    ["users, as the exporter has to log in", { acl: "users" }],
  ])("a change of %s does", (_what, spec) => {
    expect(podRevisionOf(input(spec))).not.toBe(podRevisionOf(input()));
  });

  test.each<[string, ValkeyClusterSpec]>([
    ["settings, which agents apply", { config: { "maxmemory-policy": "allkeys-lru" } }],
    ["the size of volumes beside it", { cluster: { nodeTimeout: "9s" } }],
    ["Services", { service: { type: "NodePort" } }],
    ["the number of shards", { masterCount: 5 }],
  ])("a change of %s does not", (_what, spec) => {
    expect(podRevisionOf(input(spec))).toBe(podRevisionOf(input()));
  });
});

test("a security context that would part agent and server is refused in plain words", () => {
  expect(refusedSecurity({ runAsUser: 0 })).toContain("runAsUser must be");
  expect(refusedSecurity({})).toContain("runAsUser must be");
  expect(refusedSecurity({ runAsUser: 1, runAsNonRoot: false })).toContain("runAsNonRoot");
  expect(refusedSecurity({ runAsUser: 1000 })).toBeUndefined();
});
