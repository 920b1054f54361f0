import { expect, test } from "bun:test";
import { type Act, acts, KINDS, shapeOf } from "./schedule.ts";

function first(seed: number, count: number): Act[] {
  return acts(seed).take(count).toArray();
}

test("a seed does the same things again, and another one does others", () => {
  expect(first(5, 40)).toEqual(first(5, 40));
  expect(first(5, 40)).not.toEqual(first(6, 40));
  expect(shapeOf(5)).toEqual(shapeOf(5));
});

test("every kind comes once before any comes again", () => {
  const kinds = first(1, KINDS.length).map(({ kind }) => kind);
  expect(kinds.toSorted()).toEqual([...KINDS].toSorted());
});

test("what takes a copy away never happens beside another fault", () => {
  const companions = new Set(first(3, 500).flatMap(({ companion }) => companion?.kind ?? []));
  expect([...companions].toSorted()).toEqual(["load", "lossy-link", "operator-killed"]);
});
