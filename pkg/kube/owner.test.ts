import { expect, test } from "bun:test";
import { controllerOf, controllerReference, isControlledBy, ownerKey } from "./owner.ts";
import { PODS, SERVICES, STATEFUL_SETS } from "./resource.ts";

const owner = { metadata: { namespace: "ns", name: "set", uid: "u1" } };
const owned = {
  metadata: { namespace: "ns", name: "pod", ownerReferences: [controllerReference(STATEFUL_SETS, owner)] },
};

test("what is owned leads back to its owner", () => {
  expect(controllerOf(owned)).toEqual({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    name: "set",
    uid: "u1",
    controller: true,
    blockOwnerDeletion: true,
  });
  expect(isControlledBy(owned, owner)).toBe(true);
  expect(ownerKey(owned, STATEFUL_SETS)).toBe("ns/set");
});

test("another kind, another uid or a mere reference is no owner", () => {
  expect(ownerKey(owned, SERVICES)).toBeUndefined();
  expect(isControlledBy(owned, { metadata: { namespace: "ns", name: "set", uid: "u2" } })).toBe(false);
  const loose = { ...controllerReference(PODS, owner), controller: false };
  expect(controllerOf({ metadata: { name: "x", ownerReferences: [loose] } })).toBeUndefined();
});

test("an object that was never stored owns nothing", () => {
  expect(() => controllerReference(PODS, { metadata: { namespace: "ns", name: "x" } })).toThrow(
    "Pod ns/x cannot own anything",
  );
});
