/**
 * The operator dies after each of its writes and commands, over and over, while a cluster is made: what is half done is
 * found and finished by the next one.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { withNamespace } from "./cluster.ts";
import { applyCluster, clusterAt, clusterReady, holds } from "./clusters.ts";
import { installOperator, rolledOut, scaleOperator } from "./install.ts";
import { LocalOperator } from "./local-operator.ts";

/** More than any creation takes: an operator that makes no progress over its deaths fails here. */
const MOST_LIVES = 150;

let operator: LocalOperator;

beforeAll(async () => {
  await installOperator();
  await scaleOperator(0);
  operator = await LocalOperator.make();
}, 300_000);

afterAll(async () => {
  await operator.close();
  await scaleOperator(2);
  await rolledOut();
}, 300_000);

test("a cluster comes up although the operator is killed after every write and command", async () => {
  await withNamespace("crash", async (namespace) => {
    const ref = { namespace, name: "crash" };
    await applyCluster(ref);
    const ready = async () => holds(await clusterAt(ref), "Ready");
    const done: string[] = [];
    let lives = 0;
    while (!(await ready())) {
      expect(lives).toBeLessThan(MOST_LIVES);
      // Not always after the first: otherwise what comes second in every life would never be cut.
      const { writes, commands } = await operator.live(1 + (lives % 3), ready);
      done.push(...writes, ...commands);
      lives += 1;
    }
    console.log(`${lives} lives, ${done.length} writes and commands`);
    // Nobody writes the status after the last life.
    await operator.live(Infinity, async () => {
      const { status } = await clusterAt(ref);
      return status?.slotsAssigned === 16_384 && status.readyPods === 6 && ready();
    });
    const { status } = await clusterReady(ref);
    expect(status?.readyPods).toBe(6);
    expect(status?.shards?.map(({ slots }) => slots)).toEqual(["0-5461", "5462-10922", "10923-16383"]);
    // A life may end before it has told of its command, so not every kind is seen in every run.
    expect(done.some((what) => /^(?:own|meet|follow)/u.test(what))).toBe(true);
  });
}, 900_000);
