import { expect, test } from "bun:test";
import { render } from "./version.ts";

test("every operator is shown with its image and its replicas", () => {
  const operator = { namespace: "sys", name: "valkey-operator", image: "example/op:1.0", ready: 1, wanted: 2 };
  expect(render([operator]).split("\n")[1]).toBe("operator sys/valkey-operator: example/op:1.0, 1 of 2 replicas ready");
});

test("a cluster without an operator is told as such", () => {
  expect(render([])).toEndWith("no valkey-operator is installed in this cluster");
});

test("asked for the plugin alone, the cluster is not mentioned", () => {
  expect(render(undefined).split("\n")).toHaveLength(1);
});
