import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { contentHash, difference, type Json, rendition, toJson } from "./apply-compare.ts";

const wanted = {
  metadata: { labels: { app: "x" } },
  spec: {
    replicas: 1,
    template: {
      spec: {
        containers: [
          {
            name: "valkey",
            image: "valkey:9",
            command: ["valkey-server", "/etc/valkey.conf"],
            ports: [{ containerPort: 6379 }],
            env: [{ name: "A", value: "1" }],
          },
        ],
      },
    },
  },
};

/** A copy of `wanted` as the server keeps it, with one change. */
function stored(change: (live: typeof wanted) => unknown): Json {
  const live = structuredClone(wanted);
  const container = live.spec.template.spec.containers[0];
  if (container !== undefined) Object.assign(container, { imagePullPolicy: "IfNotPresent" });
  Object.assign(live.spec, { revisionHistoryLimit: 10 });
  return toJson(change(live) ?? live);
}

const containerOf = (live: typeof wanted) => live.spec.template.spec.containers[0];

describe("a difference", () => {
  test("is not what the server filled in", () => {
    expect(
      difference(
        wanted,
        stored(() => undefined),
      ),
    ).toBeUndefined();
  });

  test("is a changed value, named by its path", () => {
    const live = stored((it) => ({ ...it, spec: { ...it.spec, replicas: 3 } }));
    expect(difference(wanted, live)).toBe("spec.replicas");
  });

  test("is a removed field", () => {
    expect(
      difference(
        wanted,
        stored((it) => ({ ...it, metadata: {} })),
      ),
    ).toBe("metadata.labels");
  });

  test("is an entry more in a list that is ours as a whole", () => {
    const live = stored((it) => void containerOf(it)?.command.push("--daemonize"));
    expect(difference(wanted, live)).toBe("spec.template.spec.containers[valkey].command");
  });

  test("is not another's entry in a list that is merged by key, wherever it stands", () => {
    const live = stored((it) => {
      const injected = { name: "mesh", image: "mesh:1", command: [], ports: [], env: [] };
      it.spec.template.spec.containers.unshift(injected);
      containerOf(it)?.env.push({ name: "B", value: "2" });
    });
    expect(difference(wanted, live)).toBeUndefined();
  });

  test("is a changed entry of a list that is merged by key", () => {
    const live = stored((it) => Object.assign(containerOf(it) ?? {}, { image: "valkey:8" }) && undefined);
    expect(difference(wanted, live)).toBe("spec.template.spec.containers[valkey].image");
  });

  test("is not a protocol that was left out", () => {
    const ports = { spec: { ports: [{ port: 6379, name: "valkey" }] } };
    const live = { spec: { ports: [{ port: 6379, name: "valkey", protocol: "TCP", targetPort: 6379 }] } };
    expect(difference(ports, live)).toBeUndefined();
    expect(difference({ spec: { ports: [{ port: 53, protocol: "UDP" }] } }, live)).toBe("spec.ports[53/UDP]");
  });

  test("is a door that a stranger opened in a network policy", () => {
    const ingress = (...ports: number[]) => ({ spec: { ingress: [{ ports: ports.map((port) => ({ port })) }] } });
    expect(difference(ingress(6379), ingress(6379, 22))).toBe("spec.ingress[0].ports");
  });

  test("is a label that a stranger added to a selector", () => {
    const live = { spec: { selector: { app: "x", track: "canary" } } };
    expect(difference({ spec: { selector: { app: "x" } } }, live)).toBe("spec.selector");
  });

  test("is not another's finalizer", () => {
    const finalizers = (...names: string[]) => ({ metadata: { finalizers: names } });
    expect(difference(finalizers("a"), finalizers("b", "a"))).toBeUndefined();
    expect(difference(finalizers("a"), finalizers("b"))).toBe("metadata.finalizers[a]");
  });
});

test("what the server writes down otherwise is learned, and a change of it still seen", () => {
  const want = { resources: { memory: "1024Mi" }, labels: {}, list: ["a"] };
  const first = { resources: { memory: "1Gi", cpu: "1" }, list: ["a"], more: 1 };
  expect(difference(want, first)).toBe("resources.memory");
  const learned = rendition(want, first);
  expect(learned).toEqual({ resources: { memory: "1Gi" }, list: ["a"] });
  expect(difference(learned, { ...first, more: 2 })).toBeUndefined();
  expect(difference(learned, { ...first, resources: { memory: "2Gi" } })).toBe("resources.memory");
});

test("undefined and null are as good as absent; a function is a mistake", () => {
  expect(toJson({ a: undefined, b: null, c: [{ d: undefined }] })).toEqual({ c: [{}] });
  expect(() => toJson({ a: () => 1 })).toThrow("a function cannot be part");
});

const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.boolean(),
    fc.integer(),
    fc.string(),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("a", "b", "port", "ports", "finalizers"), tie("value")),
  ),
})).value;

test("every object shows what it is, also with fields added, and its own rendition", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom("metadata", "spec", "webhooks"), json), (object) => {
      const value = toJson(object);
      expect(difference(value, value)).toBeUndefined();
      expect(difference(value, toJson({ ...object, extra: 1 }))).toBeUndefined();
      expect(difference(rendition(value, value), value)).toBeUndefined();
    }),
  );
});

test("the rendition of any two objects is no difference to the second", () => {
  fc.assert(
    fc.property(json, json, (first, second) => {
      expect(difference(rendition(first, second), second)).toBeUndefined();
    }),
  );
});

test("the hash depends on the content, not on the order of the fields", () => {
  expect(contentHash({ a: 1, b: [1, 2] })).toBe(contentHash({ b: [1, 2], a: 1 }));
  expect(contentHash({ a: 1, b: [1, 2] })).not.toBe(contentHash({ a: 1, b: [2, 1] }));
  expect(contentHash("1")).not.toBe(contentHash(1));
});
