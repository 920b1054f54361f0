/**
 * The install files, applied as a user applies them. Names and group are exchanged, so that a cluster on which the
 * operator runs is not touched; everything else is the file as it is shipped.
 */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib.ts";
import { until } from "../lib/until.ts";
import { kubectl, tryKubectl } from "./api-server.ts";

interface Installation {
  readonly group: string;
  readonly operator: string;
  readonly clusterCrd: string;
  readonly manifests: string;
}

const made: Installation[] = [];

async function installation(file: string): Promise<Installation> {
  const id = crypto.randomUUID().slice(0, 8);
  const group = `test-${id}.example`;
  const operator = `operator-${id}`;
  const text = await Bun.file(join(ROOT, "manifests", file)).text();
  const manifests = text
    .replaceAll("valkey-operator", operator)
    .replaceAll("valkey.io", group)
    .replaceAll("replicas: 2", "replicas: 0");
  const one = { group, operator, clusterCrd: `valkeyclusters.${group}`, manifests };
  made.push(one);
  return one;
}

afterAll(async () => {
  for (const { manifests } of made)
    await kubectl(["delete", "--ignore-not-found", "--wait=false", "-f", "-"], manifests);
}, 300_000);

for (const file of ["install.yaml", "install-namespaced.yaml"]) {
  for (const how of [[], ["--server-side"]]) {
    test(`${file} installs everything at once, and again over itself: kubectl apply ${how.join(" ")}`, async () => {
      const { manifests } = await installation(file);
      await kubectl(["apply", ...how, "-f", "-"], manifests);
      const again = await kubectl(["apply", ...how, "-f", "-"], manifests);
      expect(again).not.toContain("created");
    }, 300_000);
  }
}

/** Asks the API server what the operator's ServiceAccount may do. New roles are in force a moment after they are made. */
function rights({ operator }: Installation) {
  const as = `--as=system:serviceaccount:${operator}-system:${operator}`;
  const ask = async (...args: string[]) => (await tryKubectl(["auth", "can-i", as, ...args])).out.trim();
  return {
    may: async (...args: string[]) => until(`may ${args.join(" ")}`, async () => (await ask(...args)) === "yes"),
    mayNot: async (...args: string[]) => expect(await ask(...args)).toBe("no"),
  };
}

test("the namespaced operator may not look outside its namespace, except at its own CRDs", async () => {
  const one = await installation("install-namespaced.yaml");
  await kubectl(["apply", "-f", "-"], one.manifests);
  const { may, mayNot } = rights(one);
  await may("list", "secrets", "-n", `${one.operator}-system`);
  await may("get", `crd/${one.clusterCrd}`);
  await mayNot("list", "secrets", "-n", "default");
  await mayNot("list", "nodes");
  await mayNot("patch", "crd/others.example");
  await mayNot("create", "validatingwebhookconfigurations");
}, 300_000);

test("the operator of the whole cluster may work everywhere, and touches no CRD but ours", async () => {
  const one = await installation("install.yaml");
  await kubectl(["apply", "-f", "-"], one.manifests);
  const { may, mayNot } = rights(one);
  await may("list", "secrets", "-n", "default");
  await may("patch", `crd/${one.clusterCrd}`);
  await mayNot("patch", "crd/others.example");
  await mayNot("create", "pods", "-n", "default");
  await mayNot("delete", "nodes");
}, 300_000);
