import { expect, test } from "bun:test";
import * as v from "valibot";
import { cronWindow } from "./cron.ts";

const accepts = (window: string) => v.is(cronWindow(""), window);

test("windows that cron knows are accepted", () => {
  const good = [
    "",
    "0 4 * * 6,0",
    "*/15 * * * *",
    "0 0-6/2 1,15 * 1-5",
    "59 23 31 12 7",
    "05 04 01 01 0",
    "0  4 * * *",
  ];
  expect(good.filter((window) => !accepts(window))).toEqual([]);
});

test("windows that cron does not know are refused", () => {
  const wrong = [
    "0 4 * *",
    "60 4 * * *",
    "0 24 * * *",
    "0 4 0 * *",
    "0 4 32 * *",
    "0 4 * 13 *",
    "0 4 * * 8",
    "@daily",
    "0 4 * * * *",
    "0 4 * * */0",
    " 0 4 * * *",
    "at night",
  ];
  expect(wrong.filter(accepts)).toEqual([]);
});
