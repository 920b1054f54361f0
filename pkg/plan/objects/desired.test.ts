import { describe, expect, test } from "bun:test";
import { fromJsonString } from "@bufbuild/protobuf";
import { ConfigurationSchema, SecretMaterialSchema } from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import { desiredObjects } from "./desired.ts";
import { counting, inputOf, MATERIAL, tlsSpec } from "./fixtures.ts";
import type { Desired, DesiredInput, Previous } from "./types.ts";

const ACL = 'valkey-user: {name: admin, pass: ["root"]}\nusers: [{name: app, pass: ["one"], acl: "~* +@read"}]\n';

function names({ objects }: Desired): string[] {
  return objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
}

function dataOf({ objects }: Desired, name: string): Readonly<Record<string, string>> {
  const data = objects.find(({ metadata }) => metadata.name === name)?.["data"];
  return Object.fromEntries(Object.entries(data ?? {}).map(([key, value]: [string, unknown]) => [key, String(value)]));
}

function decoded(desired: Desired, name: string, key: string): string {
  return Buffer.from(dataOf(desired, name)[key] ?? "", "base64").toString();
}

/** What the controller reads back from what it has applied. */
function stored(desired: Desired): Previous {
  return {
    configuration: dataOf(desired, "shop-config")["configuration.json"],
    secrets: decoded(desired, "shop-secrets", "secrets.json"),
    exporterPassword: decoded(desired, "shop-exporter", "password") || undefined,
  };
}

function again(input: DesiredInput, before: Desired): Desired {
  return desiredObjects({ ...input, previous: stored(before), now: new Date(input.now.getTime() + 60_000) });
}

describe("the objects of a cluster", () => {
  test("all of them, nodes last", () => {
    const spec = { readService: { enabled: true }, networkPolicy: { enabled: true } };
    expect(names(desiredObjects(inputOf(spec)))).toEqual([
      "ConfigMap/shop-config",
      "Secret/shop-secrets",
      "ValkeyCertificateBundle/shop-mtls",
      "Service/shop",
      "Service/shop-headless",
      "Service/shop-read",
      "Service/shop-metrics",
      "PodDisruptionBudget/shop-0",
      "PodDisruptionBudget/shop-1",
      "PodDisruptionBudget/shop-2",
      "NetworkPolicy/shop",
      "ValkeyNode/shop-0-0",
      "ValkeyNode/shop-0-1",
      "ValkeyNode/shop-1-0",
      "ValkeyNode/shop-1-1",
      "ValkeyNode/shop-2-0",
      "ValkeyNode/shop-2-1",
    ]);
  });

  test("each is labelled, annotated and owned", () => {
    for (const { metadata } of desiredObjects(inputOf({ labels: { team: "blue" } })).objects) {
      expect(metadata.labels).toMatchObject({
        team: "blue",
        "valkey.io/cr": "shop",
        "app.kubernetes.io/managed-by": "valkey-operator",
      });
      expect(metadata.annotations["valkey.io/cr"]).toBe("ValkeyCluster/shop");
      expect(metadata.ownerReferences?.[0]).toMatchObject({ kind: "ValkeyCluster", name: "shop", controller: true });
    }
  });

  test("nothing is undefined in what is sent", () => {
    const spec = { acl: "users", tls: "tls", pvc: { storageSize: "1Gi" }, azDistribution: { zones: ["a", "b"] } };
    const tls = { value: { spec: tlsSpec(), material: { value: MATERIAL } } };
    const { objects } = desiredObjects(inputOf(spec, { tls, acl: { value: ACL } }));
    expect(JSON.parse(JSON.stringify(objects))).toStrictEqual(objects);
  });
});

describe("what agents are told", () => {
  test("stays the same down to the byte while nothing changes", () => {
    const input = inputOf({ acl: "users" }, { acl: { value: ACL } });
    const first = desiredObjects(input);
    expect(again(input, first).objects).toEqual(first.objects);
  });

  test("gets a higher sequence with every change, by the clock or by one", () => {
    const input = inputOf();
    const first = desiredObjects(input);
    const changed = inputOf({ config: { "maxmemory-policy": "allkeys-lru" } });
    const later = again(changed, first);
    expect(later.configuration?.sequence).toBe(BigInt(input.now.getTime() + 60_000));
    expect(later.configuration?.hash).not.toBe(first.configuration?.hash);
    const clockBack = desiredObjects({ ...inputOf(), previous: stored(later), now: new Date(0) });
    expect(clockBack.configuration?.sequence).toBe((later.configuration?.sequence ?? 0n) + 1n);
    expect(clockBack.configuration?.hash).toBe(first.configuration?.hash ?? "");
    expect(later.secrets).toEqual(first.secrets);
  });

  test("a stranger's change of the stored copy is overtaken, not only put back", () => {
    const input = inputOf();
    const first = desiredObjects(input);
    const { configuration = "" } = stored(first);
    const forged = configuration.replace('"cluster-enabled","value":"yes"', '"cluster-enabled","value":"no"');
    expect(forged).not.toBe(configuration);
    const after = desiredObjects({ ...input, previous: { ...stored(first), configuration: forged } });
    expect(after.configuration?.sequence).toBe((first.configuration?.sequence ?? 0n) + 1n);
  });

  test("emptied secrets of a cluster without users and TLS are not taken for its own", () => {
    const { secrets } = desiredObjects(inputOf({}, { previous: { secrets: "{}" } }));
    expect(secrets?.sequence).toBe(BigInt(inputOf().now.getTime()));
    expect(secrets?.hash).not.toBe("");
  });

  test("what cannot be read is replaced", () => {
    const desired = desiredObjects(inputOf({}, { previous: { configuration: "nonsense", secrets: "{" } }));
    expect(desired.configuration?.sequence).toBe(BigInt(inputOf().now.getTime()));
  });

  test("is what the ConfigMap and the Secret hold", () => {
    const desired = desiredObjects(inputOf({ acl: "users" }, { acl: { value: ACL } }));
    const { configuration = "", secrets = "" } = stored(desired);
    expect(desired.configuration).toEqual(fromJsonString(ConfigurationSchema, configuration));
    expect(desired.secrets).toEqual(fromJsonString(SecretMaterialSchema, secrets));
  });

  test("members have a name that resolves, and announce one only with TLS", () => {
    const member = { name: "shop-1-1", shard: 1, member: 1, host: "shop-1-1.prod.svc" };
    expect(desiredObjects(inputOf()).configuration?.members[3]).toMatchObject({ ...member, announcedHost: "" });
    const tls = { value: { spec: tlsSpec({ tlsAuthClients: "optional" }), material: { value: MATERIAL } } };
    const { configuration, secrets } = desiredObjects(inputOf({ tls: "tls" }, { tls }));
    expect(configuration?.members[3]?.announcedHost).toBe("shop-1-1-0.shop-headless.prod.svc");
    expect(configuration?.wire).toMatchObject({ port: 6379, tls: true, tlsCluster: true, tlsAuthClients: "optional" });
    expect(new TextDecoder().decode(secrets?.tlsKey)).toBe("KEY");
  });
});

describe("passwords", () => {
  test("of our own users are made once and read back", () => {
    const input = inputOf({ acl: "users" }, { acl: { value: ACL }, newPassword: counting() });
    const first = desiredObjects(input);
    expect(first.secrets?.replication).toMatchObject({ username: "valkey-replication", password: "made-1" });
    expect(decoded(first, "shop-exporter", "password")).toBe("made-2");
    expect(decoded(first, "shop-exporter", "username")).toBe("valkey-exporter");
    const changed = { ...input, acl: { value: ACL.replace("one", "two") } };
    const second = again(changed, first);
    expect(second.secrets?.replication?.password).toBe("made-1");
    expect(second.secrets?.sequence).toBeGreaterThan(first.secrets?.sequence ?? 0n);
  });

  test("of users are in no object in clear", () => {
    const { objects, secrets } = desiredObjects(
      inputOf({ acl: "users" }, { acl: { value: ACL.replace("one", "hunter2") } }),
    );
    expect(JSON.stringify(objects)).not.toContain("hunter2");
    expect(secrets?.aclLines.join()).not.toContain("hunter2");
    expect(atob(String(JSON.stringify(objects).match(/[A-Za-z0-9+/=]{200,}/)?.[0]))).not.toContain("hunter2");
  });
});

describe("while something is missing", () => {
  const around = ["ValkeyCertificateBundle", "Service", "PodDisruptionBudget"];

  test.each<[string, string, Partial<DesiredInput>]>([
    ["no ValkeyClusterTls", "TlsMissing", {}],
    ["a reason", "TlsMissing", { tls: { missing: "Secret x has no tls.crt" } }],
    ["no certificate", "TlsMissing", { tls: { value: { spec: tlsSpec(), material: { missing: "is being issued" } } } }],
  ])("%s of TLS: what does not depend on it is made", (_name, reason, more) => {
    const desired = desiredObjects(inputOf({ tls: "tls" }, more));
    expect(desired.troubles).toMatchObject([{ reason }]);
    expect(desired.configuration).toBeUndefined();
    for (const { kind } of desired.objects) expect(around).toContain(kind);
    const bundles = desired.objects.filter(({ kind }) => kind === "ValkeyCertificateBundle");
    expect(bundles).toHaveLength(more.tls !== undefined && "value" in more.tls ? 2 : 1);
  });

  test("external certificates need no intermediate of ours", () => {
    const tls = { value: { spec: tlsSpec({ externalCerts: "theirs" }), material: { value: MATERIAL } } };
    expect(names(desiredObjects(inputOf({ tls: "tls" }, { tls })))).not.toContain("ValkeyCertificateBundle/shop-tls");
  });

  test("users: the reason is told", () => {
    expect(desiredObjects(inputOf({ acl: "users" })).troubles[0]?.message).toContain("ValkeyClusterAcl users");
    const wrong = desiredObjects(inputOf({ acl: "users" }, { acl: { value: "users: 3" } }));
    expect(wrong.troubles).toMatchObject([{ reason: "AclInvalid" }]);
  });
});
