import { expect, test } from "bun:test";
import { StartTroubles } from "./start-troubles.ts";

test("after two ends without an answer what is not essential is left out, until the configuration changes", () => {
  const starts = new StartTroubles();
  expect(starts.essentialsOnly("a")).toBe(false);
  expect(starts.ended(false, "a")).toBe(false);
  expect(starts.trouble).toBeUndefined();
  expect(starts.ended(false, "a")).toBe(true);
  expect(starts.trouble).toContain("2 times in a row right after its start");
  expect(starts.essentialsOnly("a")).toBe(true);
  starts.answered();
  expect(starts.trouble).toBeUndefined();
  expect(starts.essentialsOnly("a")).toBe(true);
  expect(starts.essentialsOnly("b")).toBe(false);
});

test("it is told when not even the essentials help", () => {
  const starts = new StartTroubles();
  for (let time = 0; time < 2; time += 1) starts.ended(false, "a");
  starts.essentialsOnly("a");
  expect(starts.ended(false, "a")).toBe(false);
  expect(starts.trouble).toContain("even with its essential settings alone");
});

test("a server that answered and ended is another matter", () => {
  const starts = new StartTroubles();
  starts.ended(false, "a");
  expect(starts.ended(true, "a")).toBe(false);
  expect(starts.ended(false, "a")).toBe(false);
});
