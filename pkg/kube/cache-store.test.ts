import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { byLabel, byNamespace } from "./cache-index.ts";
import { type CacheChange, CacheStore, type Frame } from "./cache-store.ts";
import { compareVersions, parseVersioned, type Versioned } from "./cache-version.ts";
import { keyOf, type LooseObject, parseLoose } from "./resource.ts";

interface Item {
  readonly name: string;
  readonly uid: string;
  readonly version: number;
  readonly team?: string;
}

function item({ name, uid, version, team = "a" }: Item): Versioned {
  const metadata = { namespace: "ns", name, uid, resourceVersion: String(version), labels: { team } };
  return parseVersioned({ metadata });
}

function newStore(unreadable: string[] = []) {
  return new CacheStore({
    project: (value) => {
      const object = parseLoose(value);
      if (object.metadata.labels?.["team"] === "unreadable") throw new Error("cannot be read");
      return object;
    },
    indexes: { team: byLabel("team"), namespace: byNamespace },
    onUnreadable: (key) => unreadable.push(key),
  });
}

type Store = ReturnType<typeof newStore>;
const told = (changes: readonly CacheChange<LooseObject>[]) =>
  changes.map(({ type, object }) => `${type} ${object.metadata.name}:${object.metadata.uid}`);
const frame = (type: Frame["type"], of: Item): Frame => ({ type, item: item(of) });
const list = (store: Store, items: readonly Item[]) => store.replace(items.map((each) => store.prepare(item(each))));

test("an object made anew under the same name is a deletion and an addition", () => {
  const store = newStore();
  list(store, [{ name: "x", uid: "1", version: 5 }]);
  expect(told(list(store, [{ name: "x", uid: "2", version: 9 }]))).toEqual(["delete x:1", "add x:2"]);
  expect(told(store.apply(frame("ADDED", { name: "x", uid: "3", version: 12 })))).toEqual(["delete x:2", "add x:3"]);
});

test("a late deletion of an earlier object leaves its successor alone", () => {
  const store = newStore();
  list(store, [{ name: "x", uid: "2", version: 9 }]);
  expect(store.apply(frame("DELETED", { name: "x", uid: "1", version: 11 }))).toEqual([]);
  expect(store.entry("ns/x")?.uid).toBe("2");
});

test("an object never goes back to an older version of itself", () => {
  const store = newStore();
  store.apply(frame("ADDED", { name: "x", uid: "1", version: 100 }));
  expect(store.apply(frame("MODIFIED", { name: "x", uid: "1", version: 99 }))).toEqual([]);
  expect(store.apply(frame("MODIFIED", { name: "x", uid: "1", version: 100 }))).toEqual([]);
  expect(store.entry("ns/x")?.version).toBe("100");
});

test("indexes follow the objects", () => {
  const store = newStore();
  list(store, [
    { name: "x", uid: "1", version: 1, team: "a" },
    { name: "y", uid: "2", version: 2, team: "a" },
  ]);
  store.apply(frame("MODIFIED", { name: "x", uid: "1", version: 3, team: "b" }));
  expect([...store.index("team").keys("ns/a")]).toEqual(["ns/y"]);
  expect([...store.index("team").keys("ns/b")]).toEqual(["ns/x"]);
  list(store, []);
  expect([...store.index("team").values(), ...store.index("namespace").values()]).toEqual([]);
});

test("an object that becomes unreadable keeps its last readable state and is not taken for deleted", () => {
  const unreadable: string[] = [];
  const store = newStore(unreadable);
  list(store, [{ name: "x", uid: "1", version: 1 }]);
  expect(store.apply(frame("MODIFIED", { name: "x", uid: "1", version: 2, team: "unreadable" }))).toEqual([]);
  expect(list(store, [{ name: "x", uid: "1", version: 2, team: "unreadable" }])).toEqual([]);
  expect(store.entry("ns/x")).toMatchObject({ version: "2", object: { metadata: { resourceVersion: "1" } } });
  expect(unreadable).toEqual(["ns/x"]);
  expect(told(store.apply(frame("MODIFIED", { name: "x", uid: "1", version: 3 })))).toEqual(["update x:1"]);
});

test("whatever frames and lists come, subscribers who believe every change know what the store knows", () => {
  const items = fc.record({
    n: fc.nat(3),
    uid: fc.nat(2),
    version: fc.nat(30),
    team: fc.constantFrom("a", "b", "unreadable"),
  });
  const asItem = ({ n, uid, version, team }: { n: number; uid: number; version: number; team: string }): Item => ({
    name: `o${n}`,
    uid: `${n}-${uid}`,
    version,
    team,
  });
  const step = fc.oneof(
    fc.record({ type: fc.constantFrom("ADDED" as const, "MODIFIED" as const, "DELETED" as const), of: items }),
    fc.uniqueArray(items, { selector: ({ n }) => n }),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const store = newStore();
      const known = new Map<string, LooseObject>();
      for (const each of steps) {
        const changes = Array.isArray(each)
          ? list(store, each.map(asItem))
          : store.apply(frame(each.type, asItem(each.of)));
        for (const change of changes) believe(known, change);
        const shown = new Map<string, LooseObject>();
        for (const [key, { object }] of store.entries()) if (object !== undefined) shown.set(key, object);
        expect(shown).toEqual(known);
        const indexed = [...store.index("namespace").keys("ns")].toSorted();
        expect(indexed).toEqual([...known.keys()].toSorted());
      }
    }),
  );
});

function believe(known: Map<string, LooseObject>, change: CacheChange<LooseObject>): void {
  const key = keyOf(change.object);
  const before = known.get(key);
  if (change.type === "add") expect(before).toBeUndefined();
  if (change.type === "update") expect(before).toBe(change.old);
  if (change.type === "update") expect(change.old.metadata.uid).toBe(change.object.metadata.uid);
  if (change.type === "delete") expect(before).toBe(change.object);
  if (change.type === "delete") known.delete(key);
  else known.set(key, change.object);
}

test("versions compare as numbers of any length, and not at all when they are something else", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n }), fc.bigInt({ min: 0n }), (a, b) => {
      expect(Math.sign(compareVersions(String(a), String(b)) ?? Number.NaN)).toBe(a < b ? -1 : a > b ? 1 : 0);
    }),
  );
  expect(compareVersions("abc", "9")).toBeUndefined();
  expect(compareVersions("007", "9")).toBeUndefined();
});
