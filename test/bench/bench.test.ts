import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { array, assert, double, property } from "fast-check";
import { type Bench, median, resultLine } from "./bench.ts";
import { sizeOf } from "./binary-size.ts";
import { findKubectl } from "./kubectl.ts";
import { BENCHES, bench } from "./main.ts";
import { measureStarts } from "./plugin-start.ts";

const quick: Bench = {
  name: "quick",
  summary: "nothing much",
  run: async (progress) => {
    progress("half way");
    return { value: 3, unit: "ms", limit: 2 };
  },
};

async function output(args: string[], benches: readonly Bench[] = [quick]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await bench(args, benches, { out: (line) => out.push(line), err: (line) => err.push(line) });
  return { code, out, err };
}

test("without a name the benchmarks are listed with a line each", async () => {
  const { code, out } = await output([], BENCHES);
  expect(code).toBe(0);
  expect(out.map((line) => line.split(" ")[0])).toEqual(BENCHES.map(({ name }) => name));
});

test("names are unique and summaries are one line", () => {
  expect(new Set(BENCHES.map(({ name }) => name)).size).toBe(BENCHES.length);
  for (const { summary } of BENCHES) expect(summary).not.toContain("\n");
});

test("a benchmark's last line is its result, and progress goes elsewhere", async () => {
  const { code, out, err } = await output(["quick"]);
  expect(code).toBe(0);
  expect(JSON.parse(out.at(-1) ?? "")).toEqual({ bench: "quick", value: 3, unit: "ms", limit: 2, ratio: 1.5 });
  expect(err).toEqual(["  half way"]);
});

test("an unknown name ends with 2 and lists the names", async () => {
  const { code, err } = await output(["quack"]);
  expect(code).toBe(2);
  expect(err.join("\n")).toContain("quick  nothing much");
});

test("what does not apply is left out of the result", () => {
  expect(JSON.parse(resultLine("x", { value: 1, unit: "s" }))).toEqual({ bench: "x", value: 1, unit: "s" });
  expect(JSON.parse(resultLine("x", { value: 1, unit: "s", lost: 0, errors: 0, runs: [1] }))).toMatchObject({
    lost: 0,
    errors: 0,
    runs: [1],
  });
});

test("as many values lie above the median as below it", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  const numbers = array(double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), { minLength: 1 });
  assert(
    property(numbers, (values) => {
      const middle = median(values);
      const below = values.filter((value) => value < middle).length;
      const above = values.filter((value) => value > middle).length;
      return below <= values.length / 2 && above <= values.length / 2;
    }),
  );
});

describe("the kubectl to compare with", () => {
  const none = () => Promise.resolve(undefined);
  let dir = "";
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "kubectl-"));
    for (const [folder, content] of Object.entries({ wrapper: "#!/bin/sh\n", plain: "\x7fELF" })) {
      await Bun.write(join(dir, folder, "kubectl"), content);
      await chmod(join(dir, folder, "kubectl"), 0o755);
    }
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  test("is KUBECTL's, else the lab's, else that on PATH", async () => {
    const lab = () => Promise.resolve("/lab/kubectl");
    const PATH = join(dir, "plain");
    expect(await findKubectl({ KUBECTL: "/x/kube  kubectl", PATH }, lab)).toEqual(["/x/kube", "kubectl"]);
    expect(await findKubectl({ PATH }, lab)).toEqual(["/lab/kubectl"]);
    expect(await findKubectl({ PATH }, none)).toEqual([join(dir, "plain/kubectl")]);
  });

  test("is a plain one on PATH before a wrapper, and a wrapper before none", async () => {
    const PATH = `${join(dir, "wrapper")}:${join(dir, "plain")}`;
    expect(await findKubectl({ PATH }, none)).toEqual([join(dir, "plain/kubectl")]);
    expect(await findKubectl({ PATH: join(dir, "wrapper") }, none)).toEqual([join(dir, "wrapper/kubectl")]);
  });

  test("is asked for when there is none", async () => {
    expect(await findKubectl({ PATH: dir }, none).catch(String)).toContain("KUBECTL");
    expect(await findKubectl({}, none).catch(String)).toContain("KUBECTL");
  });
});

test("the slower of ours is the value, theirs the limit, and a failing program is no measurement", () => {
  const measured = measureStarts({ fast: ["true"], slow: ["sleep", "0.01"] }, ["true"], () => {});
  expect(measured.value).toBeGreaterThanOrEqual(10);
  expect(measured.limit).toBeLessThan(measured.value);
  expect(() => measureStarts({ fast: ["false"] }, ["true"], () => {})).toThrow("ended with 1");
});

test("a size is that of the file and of its gzip", async () => {
  const { bytes, gzip } = await sizeOf(import.meta.path, "this test", () => {});
  expect(bytes).toBe(Bun.file(import.meta.path).size);
  expect(gzip).toBeGreaterThan(0);
  expect(gzip).toBeLessThan(bytes);
});
