import { expect, test } from "bun:test";
import { distance, nearNames } from "./near.ts";
import { countSlots } from "./picture.ts";
import { Screen } from "./screen.ts";
import { age, bytes, columns, wrapped } from "./text.ts";

test("ages, sizes and slots are told as people say them", () => {
  expect([0, 119_000, 120_000, 7_199_000, 7_200_000, 172_800_000].map(age)).toEqual([
    "0s",
    "119s",
    "2m",
    "119m",
    "2h",
    "2d",
  ]);
  expect([0, 999, 1000, 1_234_567].map(bytes)).toEqual(["0 B", "999 B", "1.0 kB", "1.2 MB"]);
  expect(["", "5", "0-5461", "0-1, 4"].map(countSlots)).toEqual([0, 1, 5462, 3]);
});

test("lines are broken at spaces, a long word stands alone", () => {
  expect(wrapped("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrapped("a waytoolongword b", 5)).toEqual(["a", "waytoolongword", "b"]);
  expect(wrapped("", 5)).toEqual([]);
});

test("columns give way where they may, so that a line fits", () => {
  const rows = [[{ text: "name" }, { text: "a-very-long-machine-name.example.com" }, { text: "end" }]];
  const [line = ""] = columns(rows, { color: false, width: 30 }, { indent: 2, shrink: [1] });
  expect(line).toBe("  name  a-very-long-mach…  end");
});

test("names near to what was typed are found", () => {
  expect(distance("cache", "cahce")).toBe(2);
  expect(nearNames("cach", ["cache", "sessions", "my-cache", "coach"])).toEqual(["cache", "coach", "my-cache"]);
  expect(nearNames("x", ["cache"])).toEqual([]);
});

function screenOf(rows: number, columns: number) {
  const written: string[] = [];
  const write = (text: string) => written.push(text);
  return { written, screen: new Screen({ write, rows: () => rows, columns: () => columns }) };
}

test("a picture is drawn over the one before, and never taller than the terminal", () => {
  const { written, screen } = screenOf(4, 80);
  screen.draw("one\ntwo");
  screen.draw("one\ntwo");
  screen.draw("a\nb\nc\nd");
  screen.draw("a\nb\nc");
  screen.end();
  expect(written).toEqual([
    "\u001B[?25l",
    "\r\u001B[Jone\ntwo\n",
    "\u001B[2A\r\u001B[Ja\nb\n… 2 more lines\n",
    "\u001B[3A\r\u001B[Ja\nb\nc\n",
    "\u001B[?25h",
  ]);
});

test("a line that the terminal breaks counts as the rows it takes, colours as none", () => {
  const { written, screen } = screenOf(10, 5);
  screen.draw("\u001B[32m123456\u001B[39m\n1");
  screen.draw("done");
  expect(written.at(-1)).toBe("\u001B[3A\r\u001B[Jdone\n");
});
