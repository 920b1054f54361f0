import { expect, test } from "bun:test";
import { inOrder, onGivenCluster } from "./e2e.ts";

const file = (name: string) => `./test/e2e/${name}.test.ts`;

test("long files at one end, those without an operator at the other; those that measure beside those that wait, chaos last", () => {
  const files = ["apply-events", "chaos", "heal-crash", "heal-disk", "heal-soak", "lab", "rolling-surge"].map(file);
  expect(inOrder(files)).toEqual({
    beside: ["heal-disk", "lab", "apply-events"].map(file),
    alone: ["rolling-surge", "heal-crash", "chaos"].map(file),
    quiet: ["heal-soak"].map(file),
  });
});

test("on a cluster that somebody has, those without an operator come before any that brings one", () => {
  const files = ["api-crds", "chaos", "crds", "lab"].map(file);
  expect(onGivenCluster(files)).toEqual({
    first: ["api-crds", "crds"].map(file),
    rest: ["chaos", "lab"].map(file),
  });
});
