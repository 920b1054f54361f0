/** kubectl valkey status and topology, compiled, against a real API server. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Ending, Program } from "../lib/program.ts";
import { until } from "../lib/until.ts";
import { installCrds } from "./api-server.ts";
import { BINARIES, kubectl } from "./cluster.ts";
import { OPERATOR_NAMESPACE, rolledOut, scaleOperator } from "./install.ts";
import { clusterStatus, makeCluster, NAME } from "./plugin-fixture.ts";

const namespace = `plugin-${crypto.randomUUID().slice(0, 8)}`;
const PLUGIN = join(BINARIES, "kubectl-valkey");
const context = process.env["KUBE_CONTEXT"];
const CONNECTION = context === undefined ? [] : ["--context", context];
let folder = "";
let replicas = 0;

/** An operator that runs would take the objects for its own and tell another story of them. */
async function restOperator(): Promise<number> {
  const found = ["get", "deployment", "valkey-operator", "-n", OPERATOR_NAMESPACE, "--ignore-not-found"];
  const before = Number(await kubectl([...found, "-o", "jsonpath={.spec.replicas}"]));
  if (before === 0) return 0;
  await scaleOperator(0);
  return before;
}

beforeAll(async () => {
  replicas = await restOperator();
  await installCrds();
  await kubectl(["create", "namespace", namespace]);
  await makeCluster(namespace);
  folder = await mkdtemp(join(tmpdir(), "plugin-e2e-"));
}, 300_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--wait=false"]);
  if (replicas > 0) {
    await scaleOperator(replicas);
    await rolledOut();
  }
  await rm(folder, { recursive: true, force: true });
}, 300_000);

async function plugin(...args: string[]): Promise<Ending> {
  return Program.run([PLUGIN, ...args, ...CONNECTION]);
}

const onCluster = (command: string, ...args: string[]) => plugin(command, NAME, "-n", namespace, ...args);

test("status tells the state and what to do, and a script can read both", async () => {
  await clusterStatus(namespace, { ready: false });
  const text = await onCluster("status");
  expect(text).toMatchObject({ code: 2, err: "" });
  expect(text.out).toContain("Pending: 3 shards, 5 of 6 pods ready");
  expect(text.out).toContain("no Node can take these pods. Add Nodes.");
  const json = await onCluster("status", "-o", "json");
  expect(JSON.parse(json.out)).toMatchObject({ name: NAME, namespace, healthy: false, readyPods: 5 });
  await clusterStatus(namespace, { ready: true });
  expect(await onCluster("status")).toMatchObject({ code: 0, err: "" });
});

test("topology draws shards, roles and places; what a pod itself says counts", async () => {
  const { out } = await onCluster("topology");
  const lines = out.split("\n");
  expect(lines).toContain("shard 0  slots 0-5461 (5462)");
  expect(lines).toContain("  primary  cache-0-0  ready            node-0  zone-0");
  expect(lines).toContain("  replica  cache-2-1  SchedulingGated  node-1  zone-1  lag 0 B");
  const { shards } = JSON.parse((await onCluster("topology", "-o", "json")).out) as { shards: { slotCount: number }[] };
  expect(shards.map(({ slotCount }) => slotCount)).toEqual([5462, 5461, 5461]);
});

test("as a plugin of kubectl it takes its flags", async () => {
  const through = await kubectl(["valkey", "topology", NAME, "-n", namespace, ...CONNECTION]).catch(String);
  expect(through).toContain("cache-0-0");
});

test("a name that does not exist is answered with those that do", async () => {
  const near = await plugin("status", "cahce", "-n", namespace);
  expect(near).toMatchObject({ code: 1, out: "" });
  expect(near.err).toBe(`error: there is no ValkeyCluster cahce in namespace ${namespace}. Did you mean cache?\n`);
  const elsewhere = await plugin("topology", NAME, "-n", "default");
  expect(elsewhere.err).toContain(`There is one in namespace ${namespace}: use -n`);
});

test("who may not look is told which right is missing", async () => {
  await kubectl(["create", "serviceaccount", "nobody", "-n", namespace]);
  const token = (await kubectl(["create", "token", "nobody", "-n", namespace])).trim();
  const file = join(folder, "nobody");
  await Bun.write(file, await kubectl(["config", "view", "--raw", "--flatten", "--minify"]), { mode: 0o600 });
  await kubectl(["config", "set-credentials", "nobody", `--token=${token}`, `--kubeconfig=${file}`]);
  await kubectl(["config", "set-context", "--current", "--user=nobody", `--kubeconfig=${file}`]);
  const answer = await Program.run([PLUGIN, "status", NAME, "-n", namespace, "--kubeconfig", file]);
  expect(answer).toMatchObject({ code: 1, out: "" });
  expect(answer.err).toContain("needs the verbs get, list and watch on valkeyclusters and valkeynodes");
});

test("followed without a terminal, every change is a line, and the end is when it is ready", async () => {
  await clusterStatus(namespace, { ready: false });
  await using followed = new Program([PLUGIN, "status", NAME, "-n", namespace, "--until-ready", ...CONNECTION]);
  await until("the first lines", () => followed.out.includes("5 of 6 pods ready"));
  await clusterStatus(namespace, { ready: true });
  const { code, out } = await followed.ending();
  expect(code).toBe(0);
  const lines = out.trimEnd().split("\n");
  expect(lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /u, ""))).toEqual([
    "Pending: 3 shards, 5 of 6 pods ready",
    "5 of 6 pods ready, 16384 slots served",
    "error: NoNodeFits: no Node can take these pods. Add Nodes.",
    "Running: 3 shards, 6 of 6 pods ready",
    "6 of 6 pods ready, 16384 slots served",
  ]);
});

/** What was drawn after the one before was wiped away. */
function lastPicture(screen: string): string {
  return screen.slice(screen.lastIndexOf("\u001B[J"));
}

test("followed on a terminal, the picture is drawn over itself; an interruption leaves it and the cursor behind", async () => {
  await clusterStatus(namespace, { ready: false });
  let screen = "";
  const decoder = new TextDecoder();
  const data = (_terminal: unknown, bytes: Uint8Array) => void (screen += decoder.decode(bytes, { stream: true }));
  const child = Bun.spawn([PLUGIN, "topology", NAME, "-n", namespace, "--watch", ...CONNECTION], {
    terminal: { cols: 100, rows: 30, data },
  });
  await until("the first picture", () => screen.includes("Pending"));
  await clusterStatus(namespace, { ready: true });
  await until("the second one over it", () => lastPicture(screen).includes("Running"));
  expect(screen).toContain("\u001B[13A");
  child.kill("SIGINT");
  expect(await child.exited).toBe(0);
  // What a program has written last may be read after its end.
  await until("the cursor is shown again", () => screen.endsWith("\u001B[?25h"));
});
