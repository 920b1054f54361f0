import { expect, test } from "bun:test";
import { parseValkeyCluster } from "./cluster.ts";
import { parseValkeyClusterTls } from "./cluster-tls.ts";
import { ParseError } from "./parse-error.ts";

const cluster = (spec: unknown) => ({
  apiVersion: "valkey.io/v1alpha1",
  kind: "ValkeyCluster",
  metadata: { name: "a" },
  spec,
});

function failure(parse: () => unknown): ParseError {
  try {
    parse();
  } catch (error) {
    if (error instanceof ParseError) return error;
    throw error;
  }
  throw new Error("was parsed");
}

test("an object is typed after parsing", () => {
  const { spec, metadata } = parseValkeyCluster(
    cluster({ masterCount: 5, tolerations: [{ key: "x" }], labels: { a: "b" } }),
  );
  expect(metadata.name).toBe("a");
  expect(spec.masterCount).toBe(5);
  expect(spec.tolerations?.[0]?.key).toBe("x");
});

test("every wrong field is named with its path", () => {
  const spec = { masterCount: "3", tolerations: [{ effect: "Never" }], valkeyImage: { tag: 8.1 } };
  const { fields, message } = failure(() => parseValkeyCluster(cluster(spec)));
  expect(fields.map(({ field }) => field).toSorted()).toEqual([
    "spec.masterCount",
    "spec.tolerations[0].effect",
    "spec.valkeyImage.tag",
  ]);
  expect(message).toStartWith("ValkeyCluster a does not fit its schema: ");
});

test("an object of another kind is refused", () => {
  expect(failure(() => parseValkeyClusterTls(cluster({}))).fields.map(({ field }) => field)).toEqual(["kind"]);
});

test("hostile input is an error, never a crash", () => {
  for (const value of [
    null,
    undefined,
    1,
    "x",
    [],
    {},
    { metadata: null },
    cluster(null),

    cluster(undefined),
  ]) {
    expect(failure(() => parseValkeyCluster(value)).fields.length).toBeGreaterThan(0);
  }
});

test("a ValkeyClusterTls gets the values that the API server would fill in", () => {
  const { spec } = parseValkeyClusterTls({ ...cluster({ tlsAuthClients: "optional" }), kind: "ValkeyClusterTls" });
  expect(spec).toMatchObject({ tlsPort: 6379, tlsAuthClients: "optional", disableNonTlsPort: true });
});
