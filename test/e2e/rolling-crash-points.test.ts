/** The operator dies after each of its writes and commands while pods are replaced: the next one goes on, nothing is lost. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { withNamespace } from "./cluster.ts";
import { applyCluster, clusterAt, clusterReady } from "./clusters.ts";
import { installOperator, rolledOut, scaleOperator } from "./install.ts";
import { LocalOperator } from "./local-operator.ts";
import { changeSpec, isDone, uidsOf } from "./rolling.ts";
import { UNHARMED, verdict, whileWriting } from "./writes.ts";

/** More than any rolling change of six pods takes: an operator that makes no progress over its deaths fails here. */
const MOST_LIVES = 200;

let operator: LocalOperator;

beforeAll(async () => {
  await installOperator();
  operator = await LocalOperator.make();
}, 180_000);

afterAll(async () => {
  await operator.close();
  await scaleOperator(2);
  await rolledOut();
}, 180_000);

test("six pods are replaced although the operator is killed after every write and command", async () => {
  await withNamespace("crash", async (namespace) => {
    const ref = { namespace, name: "crash" };
    await applyCluster(ref, { pvc: { storageSize: "64Mi" } });
    await clusterReady(ref);
    await scaleOperator(0);
    const before = await uidsOf(ref);
    const done: string[] = [];
    const over = async () => {
      const uids = await uidsOf(ref);
      return uids.length === 6 && uids.every((uid) => !before.includes(uid)) && isDone(await clusterAt(ref));
    };
    const felt = await whileWriting(ref, async () => {
      await changeSpec(ref, { resources: { limits: { memory: "160Mi" } } });
      for (let lives = 0; !(await over()); lives += 1) {
        expect(lives).toBeLessThan(MOST_LIVES);
        // Not always after the first: otherwise what comes second in every life would never be cut.
        const { writes, commands } = await operator.live(1 + (lives % 3), over);
        done.push(...writes, ...commands);
      }
    });
    console.log(`${done.length} writes and commands`);
    // No client saw an error: primaries were handed over, also by operators that did not live to hear of it.
    expect(verdict(felt)).toEqual(UNHARMED);
  });
}, 1_200_000);
