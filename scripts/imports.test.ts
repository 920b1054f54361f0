import { expect, test } from "bun:test";
import { checkImports, wrongImports } from "./imports.ts";

test("a decision that reads a file is named", () => {
  expect(
    wrongImports("pkg/plan/slots.ts", 'import { readFile } from "node:fs/promises"; await readFile("x");'),
  ).toHaveLength(1);
});

test("a decision that uses the API types passes", () => {
  expect(wrongImports("pkg/plan/slots.ts", 'import { x } from "../api/cluster.ts"; x();')).toEqual([]);
});

test("the operator may not reach into Valkey", () => {
  const source = 'import { connect } from "../../valkey/client.ts"; connect();';
  expect(wrongImports("pkg/controllers/cluster/reconcile.ts", source)[0]).toContain("never to Valkey");
});

test("the agent may not know Kubernetes", () => {
  expect(wrongImports("pkg/agent/gate.ts", 'import { list } from "../kube/cache.ts"; list();')).toHaveLength(1);
});

test("the whole tree points one way", async () => {
  expect(await checkImports()).toEqual([]);
});
