/**
 * Two of three machines are gone at once, and with them most primaries and most votes. Nobody takes over by guessing: the
 * status names what a person has to say, and when that is said, of one Node by a taint and of the other by deleting it,
 * everything comes back on the machine that is left.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as faults from "../lab/faults.ts";
import type { Lab } from "../lab/lab.ts";
import { harm } from "../lib/harm.ts";
import { until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { cli, clusterWhere } from "./clusters.ts";
import { HealCluster } from "./heal-cluster.ts";
import * as heal from "./heal-lab.ts";
import type { Member } from "./heal-members.ts";
import { restartOperator, rolledOut } from "./install.ts";

const CASE_MS = 600_000;
const KEYS = Array.from({ length: 12 }, (_, index) => `saved-${index}`);
const taint = (node: string) => `taint node ${node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`;

describe.skipIf(heal.WITHOUT_LAB)("heal without a quorum:", () => {
  let lab: Lab;
  let cluster: HealCluster;
  beforeAll(async () => {
    lab = await heal.openHealLab();
    const ref = { namespace: await heal.makeNamespace("heal-quorum"), name: "heal" };
    cluster = new HealCluster(ref, { version: "9.1", replicas: 1 });
    await cluster.make({ pvc: { storageSize: "64Mi" } });
  }, heal.PREPARATION_MS);
  afterAll(async () => {
    await heal.removeNamespace(cluster.ref.namespace);
    await restartOperator();
    await rolledOut();
  }, 300_000);

  test(
    "most primaries and votes are gone: it is held with the command that decides, and the command decides",
    async () => {
      const { node: left } = await heal.lonePrimary(cluster);
      const names = lab.nodes.map(({ index }) => `node${index}`);
      const off = names.filter((name) => name !== left);
      await moveOperatorTo(left, off);
      const before = await cluster.members();
      const at = before.find(({ node }) => node === left)?.pod ?? "";
      for (const key of KEYS) expect(await cli(cluster.ref, at, "-c", "set", key, key)).toBe("OK");
      for (const { pod } of before)
        await until(`${pod} has saved`, async () => (await cli(cluster.ref, pod, "save")) === "OK");
      const powerOn = await Promise.all(off.map((name) => faults.powerCutNode(lab, faults.nodeNamed(lab, name))));
      try {
        const leads = (members: readonly Member[]) => members.filter(({ role }) => role === "primary");
        const asked = off.filter((name) => leads(before).some(({ node }) => node === name));
        await clusterWhere(cluster.ref, "names the command for each Node of a primary", ({ status }) => {
          const hold = status?.holds?.find(({ predicate }) => predicate === "quorum-lost");
          return asked.every((name) => hold?.message.includes(`kubectl ${taint(name)}`) === true);
        });
        const stay = leads(before).filter(({ node }) => node === left);
        const now = leads(await cluster.members());
        expect(now.filter(({ pod }) => !stay.some((one) => one.pod === pod))).toEqual([]);
        const [tainted = "", deleted = ""] = off;
        await kubectl(taint(tainted).split(" "));
        await kubectl(["delete", "node", deleted, "--wait=false"]);
        const members = await cluster.healthy({ timeoutMs: 240_000 });
        expect(members.filter(({ node }) => node !== left)).toEqual([]);
        const values: string[] = [];
        for (const key of KEYS) values.push(await cli(cluster.ref, at, "-c", "get", key));
        expect(
          harm(
            "saved keys lost",
            KEYS.filter((key, index) => key !== values[index]),
          ),
        ).toEqual([]);
      } finally {
        for (const on of powerOn) await on();
        for (const name of off) await untaint(name);
      }
    },
    CASE_MS,
  );
});

/** Both replicas, because whoever leads has to be among those that are left. */
async function moveOperatorTo(node: string, others: readonly string[]): Promise<void> {
  for (const name of others) await kubectl(["cordon", name]);
  try {
    await restartOperator();
    await rolledOut();
  } finally {
    for (const name of others) await kubectl(["uncordon", name]);
  }
  const where = ["get", "pods", "-n", "valkey-operator-system", "-o", "jsonpath={.items[*].spec.nodeName}"];
  await until(`the operator is on ${node}`, async () => {
    const nodes = (await kubectl(where)).split(" ");
    return nodes.every((name) => name === node);
  });
}

/** When the machine has made itself known again. */
async function untaint(name: string): Promise<void> {
  const ready = `jsonpath={.status.conditions[?(@.type=="Ready")].status}`;
  await until(
    `${name} is ready`,
    async () => (await kubectl(["get", "node", name, "--ignore-not-found", "-o", ready])) === "True",
    {
      timeoutMs: 90_000,
    },
  );
  const taints = await kubectl(["get", "node", name, "-o", "jsonpath={.spec.taints[*].key}"]);
  if (taints.includes("out-of-service")) await kubectl(`${taint(name)}-`.split(" "));
}
