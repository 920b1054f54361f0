/** kubectl valkey failover, compiled, with the operator and servers that write clients use. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { FAILOVER_ANNOTATION } from "../../pkg/api/failover-request.ts";
import { VALKEY_VERSIONS } from "../lab/valkey.ts";
import { type Ending, Program } from "../lib/program.ts";
import { until } from "../lib/until.ts";
import { tryKubectl } from "./api-server.ts";
import { apply, BINARIES, kubectl } from "./cluster.ts";
import { applyCluster, clusterAt, clusterReady, clusterWhere } from "./clusters.ts";
import { installOperator } from "./install.ts";
import { eventOf } from "./operator.ts";
import { primariesOf } from "./rolling.ts";
import { gapsText, UNHARMED, verdict, whileWriting } from "./writes.ts";

const namespace = `failover-${crypto.randomUUID().slice(0, 6)}`;
const context = process.env["KUBE_CONTEXT"];
const CONNECTION = context === undefined ? [] : ["--context", context];
const nameOf = (version: string) => `v${version.replace(".", "")}`;

beforeAll(async () => {
  await installOperator();
  await kubectl(["create", "namespace", namespace]);
}, 600_000);

afterAll(async () => {
  await kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--wait=false"]);
}, 300_000);

async function failover(...args: string[]): Promise<Ending> {
  return Program.run([join(BINARIES, "kubectl-valkey"), "failover", ...args, "-n", namespace, ...CONNECTION], {
    timeoutMs: 120_000,
  });
}

test.each([...VALKEY_VERSIONS])(
  "a primary of %s hands over under writes, there and back",
  async (version) => {
    const ref = { namespace, name: nameOf(version) };
    await applyCluster(ref, { valkeyImage: { name: "valkey/valkey", tag: version } });
    await clusterReady(ref, { timeoutMs: 180_000 });
    await clusterWhere(ref, "has a replica in sync in every shard", ({ status }) => {
      const shards = status?.shards ?? [];
      return (
        shards.length === 3 && shards.every((one) => one.primary !== undefined && one.replicas?.[0]?.inSync === true)
      );
    });
    const [, primary = ""] = await primariesOf(ref);
    const felt = await whileWriting(ref, async () => {
      const { code, out, err } = await failover(ref.name, "1", "--yes");
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toMatch(/leads shard 1 now. Writes waited \d+ ms\./);
      const { status } = await clusterAt(ref);
      expect(status?.failover).toMatchObject({ phase: "Done", shard: 1, from: primary });
      // Refused, and nothing written, until the old primary follows in sync.
      const back = await until(
        "handed back",
        async () => {
          const answer = await failover(ref.name, "--to", primary, "--yes", "-o", "json");
          return answer.code === 0 ? answer : undefined;
        },
        { timeoutMs: 150_000 },
      );
      expect(JSON.parse(back.out)).toMatchObject({ phase: "Done", to: primary });
    });
    console.log(`${version}: ${gapsText(felt)}`);
    expect(verdict(felt)).toEqual(UNHARMED);
    expect((await eventOf(namespace, ref.name, "FailedOver")).note).toContain("leads shard 1");
    // One cluster at a time; the last one is left for the tests that follow.
    if (version !== VALKEY_VERSIONS.at(-1))
      await kubectl(["delete", "vc", ref.name, "-n", namespace, "--timeout=180s"]);
  },
  600_000,
);

test("a dry run says what would happen and does nothing; wrong words are told before anything is written", async () => {
  const ref = { namespace, name: nameOf("9.1") };
  const before = await until("every shard has a primary", async () => {
    const primaries = await primariesOf(ref);
    return primaries.length === 3 && primaries.every((name) => name !== undefined) ? primaries : undefined;
  });
  const dry = await failover(ref.name, "0", "--dry-run");
  expect(dry.code).toBe(0);
  expect(dry.out).toContain(`${before[0]} hands over to`);
  const told = async (...args: string[]) => {
    const { code, err } = await failover(ref.name, ...args);
    expect(code).toBe(1);
    return err;
  };
  expect(await told()).toContain("which shard?");
  expect(await told("9", "--yes")).toContain("there is no shard 9");
  expect(await told("0", "--to", before[0] ?? "", "--yes")).toContain("already");
  expect(await told("0")).toContain("--yes");
  expect(await primariesOf(ref)).toEqual(before);
}, 300_000);

test("who may change a cluster may not therefore make it fail over", async () => {
  const name = nameOf("9.1");
  const rules = (verbs: readonly string[]) => [{ apiGroups: ["valkey.io"], resources: ["valkeyclusters"], verbs }];
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "editor", namespace } };
  const binding = {
    ...role,
    kind: "RoleBinding",
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "editor" },
    subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "ann" }],
  };
  await apply({ ...role, rules: rules(["get", "patch", "update"]) }, binding);
  const request = JSON.stringify({ id: "by-ann-1", shard: 0, at: new Date().toISOString() });
  const annotate = async (text: string, ...flags: string[]) => {
    const who = ["--as=ann", "--overwrite", ...flags];
    return tryKubectl(["annotate", "vc", name, "-n", namespace, ...who, `${FAILOVER_ANNOTATION}=${text}`]);
  };
  // A role is in force a moment after it was written: nothing is kept of the tries until then.
  const refused = "ann may not make ValkeyCluster";
  await until("ann may change it", async () => (await annotate(request, "--dry-run=server")).err.includes(refused));
  expect((await annotate(request)).err).toContain(refused);
  expect((await annotate("now")).err).toContain("it has to be like");
  await apply({ ...role, rules: rules(["get", "patch", "update", "failover"]) });
  await until("ann may", async () => (await annotate(request, "--dry-run=server")).code === 0);
}, 300_000);
