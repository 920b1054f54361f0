import { expect, test } from "bun:test";
import { inOrder } from "./e2e.ts";

test("chaos comes last, the others keep their order", () => {
  const files = ["./test/e2e/apply.test.ts", "./test/e2e/chaos.test.ts", "./test/e2e/lab.test.ts"];
  expect(inOrder(files)).toEqual(["./test/e2e/apply.test.ts", "./test/e2e/lab.test.ts", "./test/e2e/chaos.test.ts"]);
});
