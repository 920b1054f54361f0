/** The operator where it may not or cannot work: CRDs of another operator, no replica at all, one namespace only. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { OWNED_BY, OWNED_LABEL } from "../../pkg/api/kind.ts";
import { until } from "../lib/until.ts";
import { kubectl, onLab } from "./cluster.ts";
import * as install from "./install.ts";
import * as operator from "./operator.ts";

const NAMESPACE = `operator-refusal-${crypto.randomUUID().slice(0, 6)}`;

interface Refusal {
  readonly pod: operator.OperatorPod;
  readonly problem: string;
}

/** Nothing here is for a cluster that somebody works on. */
describe.skipIf(!onLab)("the operator", () => {
  beforeAll(async () => {
    await install.installOperator();
    await kubectl(["create", "namespace", NAMESPACE]);
  }, 300_000);
  afterAll(async () => {
    await kubectl(["delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false"]);
  }, 300_000);

  test("does not begin on a CRD that is not ours, says which and what to do, and begins when it is", async () => {
    const foreign = "valkeycertificatebundles.valkey.io";
    const { standby } = await operator.settledPair();
    await kubectl(["label", "crd", foreign, `${OWNED_LABEL}-`]);
    let next: Refusal;
    try {
      await kubectl(["delete", "pod", "-n", install.OPERATOR_NAMESPACE, standby.name, "--wait=false"]);
      next = await until("the new replica says why it waits", async () => refusing(standby.name));
      expect(next.problem).toContain(`these CRDs belong to another operator and were left as they are: ${foreign}.`);
      expect(next.problem).toContain(
        "To migrate, back up their objects (kubectl get KIND -A -o yaml), remove the other",
      );
      const { pod } = next;
      await until("readiness tells it", async () => (await operator.healthPage(pod, "/readyz")).includes(foreign));
    } finally {
      await kubectl(["label", "crd", foreign, `${OWNED_LABEL}=${OWNED_BY}`]);
    }
    const began = performance.now();
    const pair = await operator.settledPair();
    console.log(`CRDs ours again: ready after ${Math.round(performance.now() - began)} ms`);
    expect([pair.leader, pair.standby]).toContainEqual({ ...next.pod, restarts: 0, ready: true });
  });

  /** The replica that came in place of the given one, and what it logged. */
  async function refusing(replaced: string): Promise<Refusal | undefined> {
    const pod = (await operator.operatorPods()).find(({ name, ready }) => name !== replaced && !ready);
    if (pod === undefined || pod.ip === "") return undefined;
    const lines = await operator.logLines(pod.name);
    const problem = lines.find(({ message }) => message === "the operator does not begin")?.["problem"];
    return typeof problem === "string" ? { pod, problem } : undefined;
  }

  test("with no replica running: objects are accepted all the same, and looked after when it is back", async () => {
    await install.scaleOperator(0);
    try {
      const spec = { masterCount: 3, replicasPerMaster: 0, valkeyImage: { tag: "9.1" } };
      const cluster = { apiVersion: "valkey.io/v1alpha1", kind: "ValkeyCluster", metadata: { name: "bare" }, spec };
      const began = performance.now();
      await kubectl(["apply", "-n", NAMESPACE, "-f", "-"], JSON.stringify(cluster));
      console.log(`without the operator: applied in ${Math.round(performance.now() - began)} ms`);
      await operator.makeCA(NAMESPACE, "waiting");
    } finally {
      await install.scaleOperator(2);
      await install.rolledOut();
    }
    await operator.caReady(NAMESPACE, "waiting");
  });

  test("installed for its own namespace it works there and nowhere else", async () => {
    await install.removeOperator("install.yaml");
    try {
      await install.installOperator("install-namespaced.yaml");
      await operator.makeCA(NAMESPACE, "outside");
      await operator.makeCA(install.OPERATOR_NAMESPACE, "inside");
      await operator.caReady(install.OPERATOR_NAMESPACE, "inside");
      // Both were made at the same time, so that it would have been done by now; nor is it allowed to.
      expect(await operator.caStatus(NAMESPACE, "outside")).toEqual({});
      const as = `--as=system:serviceaccount:${install.OPERATOR_NAMESPACE}:valkey-operator`;
      const may = async (namespace: string) =>
        kubectl(["auth", "can-i", as, "list", "secrets", "-n", namespace]).catch((error: unknown) => String(error));
      expect(await may(install.OPERATOR_NAMESPACE)).toContain("yes");
      // What a role allowed is in force for a moment after it was deleted.
      await until("it may not look elsewhere", async () => (await may(NAMESPACE)).includes("no"));
      const { leader } = await operator.settledPair();
      expect(await operator.metric(leader, "cache_failures_total")).toBe(0);
    } finally {
      await install.removeOperator("install-namespaced.yaml");
      await install.installOperator("install.yaml");
    }
    await operator.caReady(NAMESPACE, "outside");
  }, 900_000);
});
