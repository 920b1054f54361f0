/** Changes with spares, under clients that write: no shard ever has fewer copies than the spec asks for. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ValkeyCluster } from "../../pkg/api/cluster.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { applyCluster, type ClusterPod, clusterReady, clusterWhere, podsOf } from "./clusters.ts";
import { installOperator } from "./install.ts";
import { changeSpec, isDone, PATIENCE, rolledOver, uidsOf } from "./rolling.ts";
import { gapsText, UNHARMED, verdict, whileWriting } from "./writes.ts";

const namespace = `surge-${crypto.randomUUID().slice(0, 6)}`;
const SURGE = { update: { strategy: "Surge" } };
const SPARE = "999";

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
}, 180_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 60_000);

/** Counts, at every look, the pods of each shard that have been ready and are not on their way out. */
class CopyCount {
  readonly #ready = new Set<string>();
  fewest = Number.POSITIVE_INFINITY;
  spares = 0;

  look(pods: readonly ClusterPod[]): void {
    for (const { metadata, status } of pods) {
      const ready = status.conditions.some(({ type, status }) => type === "Ready" && status === "True");
      if (ready) this.#ready.add(metadata.uid ?? "");
    }
    const copies = pods.filter(
      ({ metadata }) => this.#ready.has(metadata.uid ?? "") && metadata.deletionTimestamp === undefined,
    );
    const shards = Map.groupBy(copies, ({ metadata }) => metadata.labels?.["valkey.io/shard"]);
    this.fewest = Math.min(this.fewest, ...[0, 1, 2].map((shard) => shards.get(String(shard))?.length ?? 0));
    this.spares = Math.max(this.spares, copies.filter((pod) => isSpare(pod)).length);
  }
}

function isSpare({ metadata }: ClusterPod): boolean {
  return metadata.labels?.["valkey.io/member"] === SPARE;
}

/** Looks again and again until the work is done. */
async function counting(name: string, work: () => Promise<void>): Promise<CopyCount> {
  const count = new CopyCount();
  const over = new AbortController();
  const looking = (async () => {
    while (!over.signal.aborted) {
      count.look(await podsOf({ namespace, name }));
      await Bun.sleep(200);
    }
  })();
  try {
    await work();
  } finally {
    over.abort();
    await looking;
  }
  return count;
}

async function leftOf(name: string): Promise<string> {
  const kinds = "valkeynodes,statefulsets,services,persistentvolumeclaims,pods";
  const names = await kubectl(["get", kinds, "-n", namespace, "-l", `valkey.io/cr=${name}`, "-o", "name"]);
  return names
    .split("\n")
    .filter((one) => one.includes(`-${SPARE}`))
    .join(" ");
}

const CASES = [
  ["with a replica each, on volumes", "shop", { replicasPerMaster: 1, pvc: { storageSize: "64Mi" } }, 2],
  ["without replicas and without volumes", "lone", { replicasPerMaster: 0 }, 1],
] as const;

test.each(CASES)(
  "%s",
  async (_, name, shape, copies) => {
    const ref = { namespace, name };
    await applyCluster(ref, { masterCount: 3, ...shape, ...SURGE });
    await clusterReady(ref);
    const before = await uidsOf(ref);
    let count: CopyCount | undefined;
    const felt = await whileWriting(ref, async () => {
      count = await counting(name, async () => {
        await changeSpec(ref, { annotations: { changed: "yes" } });
        await rolledOver(ref, before);
      });
    });
    console.log(`${name}: ${gapsText(felt)}`);
    // Whether clients see errors is for rolling-change: here seven pods run and two clients write, and copies are counted.
    expect({ ...verdict(felt), errors: {} }).toEqual(UNHARMED);
    expect(count?.fewest).toBe(copies);
    expect(count?.spares).toBeGreaterThan(0);
    await clusterWhere(ref, "is as before", isDone, PATIENCE);
    await until("nothing of a spare is left", async () => (await leftOf(name)) === "", PATIENCE);
    await kubectl(["delete", "vc", "-n", namespace, name, "--wait=false"]);
  },
  400_000,
);

test("a spare that cannot start keeps the cluster as it is, and goes when the spec goes back", async () => {
  const ref = { namespace, name: "back" };
  await applyCluster(ref, { masterCount: 3, replicasPerMaster: 0, ...SURGE });
  await clusterReady(ref);
  const before = await uidsOf(ref);
  const troubled = ({ status }: ValkeyCluster) =>
    status?.troubles?.some(({ reason }) => reason === "ImageCannotBePulled") === true;
  await changeSpec(ref, { valkeyImage: { name: "localhost/no-such-image" } });
  await clusterWhere(ref, "says what is wrong", troubled, PATIENCE);
  expect((await podsOf(ref)).filter((pod) => !isSpare(pod)).map(({ metadata }) => metadata.uid)).toEqual([...before]);
  await changeSpec(ref, { valkeyImage: { name: "valkey/valkey" } });
  await clusterWhere(ref, "is as before", isDone, PATIENCE);
  await until("nothing of a spare is left", async () => (await leftOf(ref.name)) === "", PATIENCE);
  expect(await uidsOf(ref)).toEqual(before);
}, 400_000);
