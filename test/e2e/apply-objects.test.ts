/** Objects made, kept and removed on a real API server; each test looks at what the server stores afterwards. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Applier, type ApplyOutcome, FIELD_MANAGER } from "../../pkg/kube/apply.ts";
import type { Body } from "../../pkg/kube/client.ts";
import { Expectations } from "../../pkg/kube/expectations.ts";
import { addFinalizer, removeFinalizer } from "../../pkg/kube/finalizers.ts";
import { controllerReference } from "../../pkg/kube/owner.ts";
import {
  CONFIG_MAPS,
  CRDS,
  defineResource,
  keyOf,
  type LooseObject,
  NAMESPACES,
  type Resource,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
} from "../../pkg/kube/resource.ts";
import { clientOf } from "../lib/kube.ts";

const client = clientOf();
const namespace = `apply-${Date.now().toString(36)}`;
const signal = new AbortController().signal;
const WIDGETS = defineResource({
  group: "e2e.valkey.io",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
});

/** An applier that looks at the server instead of a cache, and a count of what the object went through. */
function world(applier = new Applier({ client })) {
  const read = async (resource: Resource, name: string) => client.get(resource, { namespace, name });
  const apply = async (resource: Resource, wanted: Body): Promise<ApplyOutcome<LooseObject>> => {
    const live = await client.find(resource, wanted.metadata);
    return applier.apply(resource, wanted, { owner: "test", live, signal });
  };
  /** Moves with every write of ours; a controller's writes to a status do not move a generation. */
  const version = async (resource: Resource, name: string) => {
    const { generation, resourceVersion } = (await read(resource, name)).metadata;
    return generation ?? resourceVersion;
  };
  const stranger = async (resource: Resource, name: string, body: object) =>
    client.patch(resource, { namespace, name }, { type: "merge", body }, { fieldManager: "kubectl-edit" });
  return { applier, read, apply, version, stranger };
}

const configMap = (name: string, data: Record<string, string>): Body & { data: object } => ({
  metadata: { namespace, name, labels: { app: "test" } },
  data,
});

const statefulSet = (name: string, memory: string): Body & { spec: object } => ({
  metadata: { namespace, name, labels: { app: name } },
  spec: {
    replicas: 1,
    serviceName: name,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [
          {
            name: "valkey",
            image: "valkey:9.1",
            ports: [{ containerPort: 6379, name: "valkey" }],
            resources: { requests: { memory, cpu: "1000m" } },
            env: [{ name: "EMPTY", value: "" }],
            volumeMounts: [{ name: "data", mountPath: "/data" }],
          },
        ],
        volumes: [{ name: "data", emptyDir: {} }],
        tolerations: [],
      },
    },
  },
});

beforeAll(async () => {
  await client.create(NAMESPACES, { metadata: { name: namespace } });
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const crd = {
    metadata: { name: "widgets.e2e.valkey.io" },
    spec: {
      group: "e2e.valkey.io",
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget" },
      versions: [
        { name: "v1", served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
      ],
    },
  };
  await client.apply(CRDS, crd, { fieldManager: "e2e", force: true });
  for (;;) {
    if ((await client.list(WIDGETS).catch(() => undefined)) !== undefined) break;
    await Bun.sleep(50);
  }
}, 300_000);

afterAll(async () => {
  await client.delete(CRDS, { name: "widgets.e2e.valkey.io" });
  await client.delete(NAMESPACES, { name: namespace });
  client.close();
});

describe("apply", () => {
  test("creates, then writes nothing while nothing differs", async () => {
    const { apply, version } = world();
    expect((await apply(CONFIG_MAPS, configMap("quiet", { a: "1" }))).did).toBe("create");
    const first = await version(CONFIG_MAPS, "quiet");
    for (let n = 0; n < 3; n += 1)
      expect((await apply(CONFIG_MAPS, configMap("quiet", { a: "1" }))).did).toBe("nothing");
    expect(await version(CONFIG_MAPS, "quiet")).toBe(first);
  });

  test("fields that the server fills in or writes otherwise lead to no write", async () => {
    const { apply, version } = world();
    const wanted = statefulSet("defaults", "1024Mi");
    expect((await apply(STATEFUL_SETS, wanted)).did).toBe("create");
    const first = await version(STATEFUL_SETS, "defaults");
    expect((await apply(STATEFUL_SETS, wanted)).did).toBe("nothing");
    // As after a restart of the operator, when nothing is remembered.
    expect((await world().apply(STATEFUL_SETS, wanted)).did).toBe("nothing");
    expect(await version(STATEFUL_SETS, "defaults")).toBe(first);
  });

  test("and are still guarded when the object changes elsewhere", async () => {
    const { apply, version, stranger } = world();
    const wanted = statefulSet("guarded", "1024Mi");
    await apply(STATEFUL_SETS, wanted);
    await stranger(STATEFUL_SETS, "guarded", { metadata: { annotations: { theirs: "x" } } });
    const before = await version(STATEFUL_SETS, "guarded");
    expect((await apply(STATEFUL_SETS, wanted)).did).toBe("nothing");
    expect(await version(STATEFUL_SETS, "guarded")).toBe(before);
    await stranger(STATEFUL_SETS, "guarded", { spec: { replicas: 3 } });
    expect(await apply(STATEFUL_SETS, wanted)).toMatchObject({ did: "repair", path: "spec.replicas" });
    expect(await apply(STATEFUL_SETS, wanted)).toEqual({ did: "nothing" });
  });

  test("a field that is wanted no more is removed on the server, what others added stays", async () => {
    const { apply, read, stranger } = world();
    await apply(CONFIG_MAPS, configMap("shrinks", { a: "1", b: "2" }));
    await stranger(CONFIG_MAPS, "shrinks", { data: { theirs: "3" } });
    expect((await apply(CONFIG_MAPS, configMap("shrinks", { a: "1" }))).did).toBe("change");
    expect((await read(CONFIG_MAPS, "shrinks"))["data"]).toEqual({ a: "1", theirs: "3" });
  });

  test("a change by a stranger is repaired, and named without its value", async () => {
    const { apply, read, stranger } = world();
    const secret = { metadata: { namespace, name: "drifts" }, data: { password: btoa("ours") } };
    await apply(SECRETS, secret);
    await stranger(SECRETS, "drifts", { data: { password: btoa("theirs") } });
    const outcome = await apply(SECRETS, secret);
    expect(outcome).toMatchObject({ did: "repair", path: "data.password" });
    expect((await read(SECRETS, "drifts"))["data"]).toEqual({ password: btoa("ours") });
  });

  test("fields that another manager applied by force are taken back", async () => {
    const { apply, read } = world();
    await apply(CONFIG_MAPS, configMap("fought", { a: "1" }));
    const theirs = { metadata: { namespace, name: "fought" }, data: { a: "9" } };
    await client.apply(CONFIG_MAPS, theirs, { fieldManager: "gitops", force: true });
    expect((await apply(CONFIG_MAPS, configMap("fought", { a: "1" }))).did).toBe("repair");
    expect((await read(CONFIG_MAPS, "fought"))["data"]).toEqual({ a: "1" });
  });

  test("an endless fight is slowed down", async () => {
    const { apply, stranger } = world();
    await apply(CONFIG_MAPS, configMap("endless", { a: "1" }));
    const outcomes: string[] = [];
    for (let n = 0; n < 8; n += 1) {
      await stranger(CONFIG_MAPS, "endless", { data: { a: `theirs ${n}` } });
      outcomes.push((await apply(CONFIG_MAPS, configMap("endless", { a: "1" }))).did);
    }
    expect(outcomes.filter((did) => did === "repair")).toHaveLength(5);
    expect(outcomes.at(-1)).toBe("contested");
  });

  test("what a stranger made is left alone, seen by the cache or not", async () => {
    const { applier, read, apply } = world();
    const theirs = {
      metadata: { namespace, name: "theirs" },
      spec: { ports: [{ port: 80 }], selector: { app: "web" } },
    };
    await client.create(SERVICES, theirs, { fieldManager: "kubectl" });
    const wanted = {
      metadata: { namespace, name: "theirs" },
      spec: { ports: [{ port: 6379 }], selector: { app: "x" } },
    };
    expect((await apply(SERVICES, wanted)).did).toBe("foreign");
    const unseen = await applier.apply(SERVICES, wanted, { owner: "test", live: undefined, signal });
    expect(unseen).toEqual({ did: "foreign", why: "it was not made by this operator" });
    expect((await read(SERVICES, "theirs"))["spec"]).toMatchObject({ selector: { app: "web" } });
  });

  test("what belongs to another owner is left alone", async () => {
    const { apply, read } = world();
    const first = await client.create(WIDGETS, { metadata: { namespace, name: "first" } });
    const second = await client.create(WIDGETS, { metadata: { namespace, name: "second" } });
    const owned = (owner: LooseObject) => ({
      metadata: { namespace, name: "owned", ownerReferences: [controllerReference(WIDGETS, owner)] },
      data: {},
    });
    expect((await apply(CONFIG_MAPS, owned(first))).did).toBe("create");
    expect(await apply(CONFIG_MAPS, owned(second))).toEqual({ did: "foreign", why: "it belongs to Widget first" });
    expect((await read(CONFIG_MAPS, "owned")).metadata.ownerReferences).toEqual([controllerReference(WIDGETS, first)]);
  });

  test("a stale look does not bring back a deleted object", async () => {
    const { applier, apply, read } = world();
    await apply(CONFIG_MAPS, configMap("deleted", { a: "1" }));
    const live = await read(CONFIG_MAPS, "deleted");
    await client.delete(CONFIG_MAPS, { namespace, name: "deleted" });
    const wanted = configMap("deleted", { a: "2" });
    const late = applier.apply(CONFIG_MAPS, wanted, { owner: "test", live, signal });
    expect(await late.catch((error: unknown) => String(error))).toContain("[conflict] apply ConfigMap");
    expect(await client.find(CONFIG_MAPS, { namespace, name: "deleted" })).toBeUndefined();
  });

  test("the guard is asked before every write", async () => {
    const { applier } = world();
    const guard = () => {
      throw new Error("not leading");
    };
    const refused = applier.apply(CONFIG_MAPS, configMap("guard", {}), {
      owner: "test",
      live: undefined,
      signal,
      guard,
    });
    expect(await refused.catch((error: unknown) => String(error))).toContain("not leading");
    expect(await client.find(CONFIG_MAPS, { namespace, name: "guard" })).toBeUndefined();
  });

  test("there is one field manager, by apply", async () => {
    const { apply, read } = world();
    await apply(CONFIG_MAPS, configMap("managed", { a: "1" }));
    await apply(CONFIG_MAPS, configMap("managed", { a: "2" }));
    const metadata: object = (await read(CONFIG_MAPS, "managed")).metadata;
    expect(metadata).toMatchObject({ managedFields: [{ manager: FIELD_MANAGER, operation: "Apply" }] });
  });
});

describe("status", () => {
  test("is written on a difference only, and fields that are wanted no more go", async () => {
    const { applier, read, version } = world();
    await client.create(WIDGETS, { metadata: { namespace, name: "status" } });
    const write = async (status: object) =>
      (await applier.applyStatus(WIDGETS, await read(WIDGETS, "status"), status, { owner: "test", signal })).did;
    const conditions = [{ type: "Ready", status: "False", reason: "Waiting" }];
    expect(await write({ phase: "Creating", reason: "new", conditions })).toBe("change");
    const first = await version(WIDGETS, "status");
    expect(await write({ phase: "Creating", reason: "new", conditions })).toBe("nothing");
    expect(await version(WIDGETS, "status")).toBe(first);
    expect(await write({ phase: "Running", conditions })).toBe("change");
    expect((await read(WIDGETS, "status"))["status"]).toEqual({ phase: "Running", conditions });
  });
});

describe("remove", () => {
  test("deletes the one that was decided on, not its successor", async () => {
    const { applier, apply, read } = world();
    await apply(CONFIG_MAPS, configMap("gone", {}));
    const live = await read(CONFIG_MAPS, "gone");
    const remove = async () => applier.remove(CONFIG_MAPS, { owner: "test", live, signal });
    expect(await remove()).toEqual({ did: "delete" });
    expect(await remove()).toEqual({ did: "nothing" });
    await apply(CONFIG_MAPS, configMap("gone", {}));
    expect(await remove()).toEqual({ did: "changed" });
    expect(await client.find(CONFIG_MAPS, { namespace, name: "gone" })).toBeDefined();
  });

  test("with a resourceVersion only in that state", async () => {
    const { applier, apply, read, stranger } = world();
    await apply(CONFIG_MAPS, configMap("moved", {}));
    const live = await read(CONFIG_MAPS, "moved");
    await stranger(CONFIG_MAPS, "moved", { data: { theirs: "1" } });
    const { resourceVersion } = live.metadata;
    expect(await applier.remove(CONFIG_MAPS, { owner: "test", live, signal, resourceVersion })).toEqual({
      did: "changed",
    });
  });

  test("a finalizer holds an object; adding and taking it leaves those of others", async () => {
    const { applier, read, apply } = world();
    await client.create(WIDGETS, { metadata: { namespace, name: "held", finalizers: ["their.io/x"] } });
    const object = await read(WIDGETS, "held");
    await client.patch(WIDGETS, { namespace, name: "held" }, { type: "merge", body: { spec: { changed: true } } });
    // `object` is stale by now: the conflict is solved by looking again.
    await addFinalizer(client, { resource: WIDGETS, object, finalizer: "valkey.io/hold" });
    const held = await read(WIDGETS, "held");
    expect(held.metadata.finalizers).toEqual(["their.io/x", "valkey.io/hold"]);
    expect(await applier.remove(WIDGETS, { owner: "test", live: held, signal })).toEqual({ did: "terminating" });
    expect(await apply(WIDGETS, { metadata: { namespace, name: "held" } })).toMatchObject({ did: "foreign" });
    expect(
      await addFinalizer(client, { resource: WIDGETS, object: held, finalizer: "valkey.io/late" }),
    ).toBeUndefined();
    const going = await read(WIDGETS, "held");
    for (const finalizer of ["valkey.io/hold", "their.io/x"]) {
      await removeFinalizer(client, { resource: WIDGETS, object: going, finalizer });
    }
    expect(await client.find(WIDGETS, { namespace, name: "held" })).toBeUndefined();
    expect(
      await removeFinalizer(client, { resource: WIDGETS, object: going, finalizer: "their.io/x" }),
    ).toBeUndefined();
  });
});

test("after a write the key waits until the cache shows it", async () => {
  const cache = new Map<string, LooseObject>();
  const expectations = new Expectations();
  expectations.watchedBy(CONFIG_MAPS, (key) => cache.get(key));
  const { applier, read } = world(new Applier({ client, expectations }));
  const request = { owner: "ns/owner", live: undefined, signal };
  await applier.apply(CONFIG_MAPS, configMap("expected", { a: "1" }), request);
  expect(expectations.pendingMs("ns/owner")).toBeGreaterThan(0);
  const live = await read(CONFIG_MAPS, "expected");
  cache.set(keyOf(live), live);
  expect(expectations.pendingMs("ns/owner")).toBe(0);
  await applier.remove(CONFIG_MAPS, { owner: "ns/owner", live, signal });
  expect(expectations.pendingMs("ns/owner")).toBeGreaterThan(0);
  cache.delete(keyOf(live));
  expect(expectations.pendingMs("ns/owner")).toBe(0);
});
