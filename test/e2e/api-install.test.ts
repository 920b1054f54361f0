/**
 * The install files, applied as a user applies them. Names and group are exchanged, so that a cluster on which the
 * operator runs is not touched; everything else is the file as it is shipped.
 */
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib.ts";
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
}, 120_000);

for (const file of ["install.yaml", "install-namespaced.yaml"]) {
  for (const how of [[], ["--server-side"]]) {
    test(`${file} installs everything at once, and again over itself: kubectl apply ${how.join(" ")}`, async () => {
      const { manifests } = await installation(file);
      await kubectl(["apply", ...how, "-f", "-"], manifests);
      const again = await kubectl(["apply", ...how, "-f", "-"], manifests);
      expect(again).not.toContain("created");
    }, 120_000);
  }
}

/** Asks the API server what the operator's ServiceAccount may do. */
function rights({ operator }: Installation) {
  const as = `--as=system:serviceaccount:${operator}-system:${operator}`;
  return async (...args: string[]) => (await tryKubectl(["auth", "can-i", as, ...args])).out.trim();
}

test("the namespaced operator may not look outside its namespace, except at its own CRDs", async () => {
  const one = await installation("install-namespaced.yaml");
  await kubectl(["apply", "-f", "-"], one.manifests);
  const may = rights(one);
  expect(await may("list", "secrets", "-n", `${one.operator}-system`)).toBe("yes");
  expect(await may("list", "secrets", "-n", "default")).toBe("no");
  expect(await may("list", "nodes")).toBe("no");
  expect(await may("get", `crd/${one.clusterCrd}`)).toBe("yes");
  expect(await may("patch", "crd/others.example")).toBe("no");
  expect(await may("create", "validatingwebhookconfigurations")).toBe("no");
}, 60_000);

test("the operator of the whole cluster may work everywhere, and touches no CRD but ours", async () => {
  const one = await installation("install.yaml");
  await kubectl(["apply", "-f", "-"], one.manifests);
  const may = rights(one);
  expect(await may("list", "secrets", "-n", "default")).toBe("yes");
  expect(await may("patch", `crd/${one.clusterCrd}`)).toBe("yes");
  expect(await may("patch", "crd/others.example")).toBe("no");
  expect(await may("create", "pods", "-n", "default")).toBe("no");
  expect(await may("delete", "nodes")).toBe("no");
}, 60_000);
