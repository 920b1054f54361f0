import { expect, test } from "bun:test";
import { inLanes } from "./lanes.ts";

test("lanes share the work, one from each end, and each takes the next when it is done", async () => {
  const gate = Promise.withResolvers<void>();
  const done: string[] = [];
  const results = await inLanes(["long", "a", "b", "c"], [1, 2], async (work, lane) => {
    if (work === "long") await gate.promise;
    done.push(`${work} on ${lane}`);
    if (work === "a") gate.resolve();
    return work;
  });
  expect(done).toEqual(["c on 2", "b on 2", "a on 2", "long on 1"]);
  expect(results.toSorted()).toEqual(["a", "b", "c", "long"]);
});

test("a lane that fails fails all", async () => {
  const act = async (work: string) => (work === "b" ? Promise.reject(new Error("no lab")) : Promise.resolve(work));
  expect(inLanes(["a", "b"], [1, 2], act)).rejects.toThrow("no lab");
});
