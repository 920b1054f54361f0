import { expect, test } from "bun:test";
import { collectionPath, keyOf, NODES, objectPath, PODS, parseLoose, refOfKey, STATEFUL_SETS } from "./resource.ts";

test("paths", () => {
  expect(collectionPath(PODS)).toBe("/api/v1/pods");
  expect(collectionPath(STATEFUL_SETS, "ns")).toBe("/apis/apps/v1/namespaces/ns/statefulsets");
  expect(objectPath(NODES, { namespace: "ignored", name: "n" })).toBe("/api/v1/nodes/n");
  expect(objectPath(PODS, { namespace: "ns", name: "p" }, "status")).toBe("/api/v1/namespaces/ns/pods/p/status");
});

test("no name climbs out of its place in the path", () => {
  for (const name of ["", ".", "..", "a/b", "../secrets/x"]) {
    expect(() => objectPath(PODS, { namespace: "ns", name })).toThrow("cannot be the name");
    expect(() => objectPath(PODS, { namespace: name, name: "p" })).toThrow("cannot be the name");
  }
  expect(objectPath(PODS, { namespace: "ns", name: "a?b#c%2f" })).toEndWith("/pods/a%3Fb%23c%252f");
  expect(() => objectPath(PODS, { name: "p" })).toThrow("needs a namespace");
});

test("keys and references are two ways to say the same", () => {
  expect(keyOf({ metadata: { namespace: "ns", name: "p" } })).toBe("ns/p");
  expect(refOfKey("ns/p")).toEqual({ namespace: "ns", name: "p" });
  expect(refOfKey("node")).toEqual({ name: "node" });
});

test("an object without a name is refused, other fields are kept", () => {
  expect(() => parseLoose({ metadata: {} })).toThrow();
  expect(parseLoose({ metadata: { name: "x", managedFields: [] }, spec: { a: 1 } })).toMatchObject({ spec: { a: 1 } });
});
