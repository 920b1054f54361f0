import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { bytesOf } from "../objects/bytes.ts";
import { effectiveSpec } from "./effective.ts";
import { formOf, runningForm, writeForm } from "./form.ts";
import { nodeSpec, resolved } from "./test-spec.ts";

const TLS = {
  disableNonTlsPort: true,
  tlsPort: 6379,
  tlsAuthClients: true,
  tlsCluster: true,
  tlsReplication: true,
  tlsProtocols: "TLSv1.3",
} as const;

const recorded = (form: Parameters<typeof writeForm>[0]) => runningForm({ recorded: writeForm(form), nodes: [] });

test("a cluster that is not made yet is made as it is asked for", () => {
  const spec = resolved({ masterCount: 7, unbound: true });
  expect(effectiveSpec(spec, {}, undefined)).toEqual({ spec, holds: [] });
});

test("what cannot change stays as it runs, is told with the way back, and everything else goes on", () => {
  const made = resolved({ masterCount: 3, replicasPerMaster: 1, pvc: { storageSize: "1Gi" } });
  const asked = resolved({
    masterCount: 5,
    replicasPerMaster: 2,
    unbound: true,
    pvc: { storageSize: "2Gi", whenDeleted: "Delete" },
    config: { "maxmemory-policy": "allkeys-lru" },
  });
  const { spec, holds } = effectiveSpec(asked, {}, recorded(formOf(made, {})));
  expect(spec).toEqual({
    ...made,
    config: asked.config,
    pvc: { ...made.pvc, storageSize: "2Gi", whenDeleted: "Delete", whenScaled: "Retain" },
  });
  expect(holds.map(({ name }) => name)).toEqual(["shards-are-fixed", "replicas-are-fixed", "binding-is-fixed"]);
  expect(holds[0]?.reason).toBe(
    "3 shards run, spec.masterCount asks for 5: this release cannot change the number of shards of a running cluster, so nothing was changed; to clear this, set spec.masterCount to 3 (or the default that it comes from)",
  );
});

test("a volume is neither given nor taken nor moved to another class", () => {
  const without = resolved();
  const small = resolved({ pvc: { storageSize: "1Gi", storageClassName: "fast" } });
  expect(effectiveSpec(small, {}, recorded(formOf(without, {}))).spec).toEqual(without);
  expect(effectiveSpec(without, {}, recorded(formOf(small, {}))).spec.pvc?.storageSize).toBe("1Gi");
  const slow = resolved({ pvc: { storageSize: "1Gi", storageClassName: "slow" } });
  const { holds } = effectiveSpec(slow, {}, recorded(formOf(small, {})));
  expect(holds).toHaveLength(1);
  expect(holds[0]?.reason).toContain("set spec.pvc.storageClassName to fast");
});

test("a volume grows where its class lets it, and never shrinks", () => {
  const form = recorded(formOf(resolved({ pvc: { storageSize: "2Gi" } }), {}));
  const effective = (storageSize: string, fixedClass?: string) => {
    const { spec, holds } = effectiveSpec(resolved({ pvc: { storageSize } }), {}, form, fixedClass);
    return [spec.pvc?.storageSize, ...holds.map(({ name }) => name)];
  };
  expect(effective("3Gi")).toEqual(["3Gi"]);
  expect(effective("2048Mi")).toEqual(["2Gi"]);
  expect(effective("1Gi")).toEqual(["2Gi", "volumes-only-grow"]);
  expect(effective("3Gi", "slow")).toEqual(["2Gi", "volumes-can-grow"]);
  expect(effective("2Gi", "slow")).toEqual(["2Gi"]);
});

test("TLS is held by its name and by what it says, the life of certificates is not", () => {
  const spec = resolved({ tls: "secure" });
  const form = recorded(formOf(spec, { tls: TLS }));
  const longer = { ...TLS, internalCerts: { clientCertValidity: "1y", rotateBeforePercent: 70 } };
  expect(effectiveSpec(spec, { tls: longer }, form)).toEqual({ spec, tls: longer, holds: [] });
  const weaker = effectiveSpec(spec, { tls: { ...longer, tlsAuthClients: false } }, form);
  expect(weaker.tls).toEqual(longer);
  expect(weaker.holds[0]?.reason).toContain("set spec.tlsAuthClients of ValkeyClusterTls secure back");
  const gone = effectiveSpec(spec, {}, form);
  expect(gone).toEqual({ spec, tls: TLS, holds: [] });
  for (const tls of ["other", ""]) {
    const other = effectiveSpec(resolved({ tls }), {}, form);
    expect(other.spec.tls).toBe("secure");
    expect(other.holds[0]?.reason).toContain("set spec.tls to secure");
  }
});

test("users are neither given to an open cluster nor taken from one that has them", () => {
  const acl = { secretName: "users", secretType: "Secret" } as const;
  const open = resolved();
  const closed = resolved({ acl: "team" });
  const opened = effectiveSpec(open, {}, recorded(formOf(closed, { acl })));
  expect(opened.spec.acl).toBe("team");
  expect(opened.acl).toEqual(acl);
  const given = effectiveSpec(closed, { acl }, recorded(formOf(open, {})));
  expect(given.spec.acl).toBeUndefined();
  expect(given.holds[0]?.reason).toContain("remove spec.acl");
});

test("a record that is gone or damaged is replaced by what the nodes know", () => {
  const nodes = [nodeSpec(0, 0), nodeSpec(2, 1, { storage: { size: "1Gi" } })];
  for (const damaged of [undefined, "", "{", "[]", '{"masterCount":"x"}']) {
    const form = runningForm({ recorded: damaged, nodes });
    expect(form).toEqual({ masterCount: 3, replicasPerMaster: 1, podManagementType: "statefulset" });
  }
  expect(runningForm({ recorded: undefined, nodes: [] })).toBeUndefined();
  const unreadable = runningForm({
    recorded: JSON.stringify({ ...formOf(resolved(), {}), tls: { name: "x", spec: 1 } }),
    nodes,
  });
  expect(unreadable?.tls).toBeUndefined();
});

test("carried out twice, the effective spec holds nothing more, and asks for the same form", () => {
  const wish = fc.record(
    {
      masterCount: fc.integer({ min: 3, max: 9 }),
      replicasPerMaster: fc.integer({ min: 0, max: 3 }),
      unbound: fc.constant(false),
      podManagementType: fc.constantFrom("statefulset" as const, "deployment" as const),
      pvc: fc.record({ storageSize: fc.constantFrom("1Gi", "2Gi") }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(wish, wish, (made, asked) => {
      const form = formOf(resolved(made), {});
      const once = effectiveSpec(resolved(asked), {}, form);
      const after = formOf(once.spec, once);
      // Volumes may have grown, and nothing else changes.
      expect({ ...after, storage: undefined }).toEqual({ ...form, storage: undefined });
      expect(bytesOf(after.storage?.size)).toBeGreaterThanOrEqual(bytesOf(form.storage?.size));
      expect(effectiveSpec(once.spec, once, after)).toMatchObject({ spec: once.spec, holds: [] });
    }),
  );
});
