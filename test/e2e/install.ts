/** The operator as a user installs it, for the tests that need it running. Safe to call from every test file. */
import { join } from "node:path";
import { fileHash } from "../../images/stamp.ts";
import { DIST, ROOT } from "../../scripts/lib.ts";
import { until } from "../lib/until.ts";
import { kubectl, onLab } from "./cluster.ts";

export const OPERATOR_NAMESPACE = "valkey-operator-system";
const DEPLOYMENT = "deployment/valkey-operator";
const IN_NAMESPACE = ["-n", OPERATOR_NAMESPACE];
/** Which image the pods run: the tag is the same for every build of a release. */
const IMAGE_NOTE = "test.valkey.io/image";

export type Variant = "install.yaml" | "install-namespaced.yaml";

/** Applies the manifests, makes sure that the pods run this checkout's image, and waits until both replicas serve. */
export async function installOperator(variant: Variant = "install.yaml"): Promise<void> {
  const before = await noteOfDeployment();
  await kubectl(["apply", "-f", manifestFile(variant)]);
  const image = process.env["OPERATOR_IMAGE"];
  if (onLab) await runThisCheckout(before);
  else if (image !== undefined) await kubectl(["set", "image", DEPLOYMENT, ...IN_NAMESPACE, `operator=${image}`]);
  await rolledOut();
}

/** Takes away what the manifests brought. The CRDs are the operator's own and stay, and so do the objects of users. */
export async function removeOperator(variant: Variant): Promise<void> {
  await kubectl(["delete", "--ignore-not-found", "--timeout=240s", "-f", manifestFile(variant)]);
}

export async function rolledOut(): Promise<void> {
  await kubectl(["rollout", "status", DEPLOYMENT, ...IN_NAMESPACE, "--timeout=240s"]);
}

export async function restartOperator(): Promise<void> {
  await kubectl(["rollout", "restart", DEPLOYMENT, ...IN_NAMESPACE]);
}

/** To none: until the last one is gone, which may go on for a while after it was told to end. */
export async function scaleOperator(replicas: number): Promise<void> {
  await kubectl(["scale", DEPLOYMENT, ...IN_NAMESPACE, `--replicas=${replicas}`]);
  if (replicas > 0) return;
  const pods = ["get", "pods", ...IN_NAMESPACE, "-l", "app.kubernetes.io/name=valkey-operator", "-o", "name"];
  await until("no operator runs", async () => (await kubectl(pods)) === "", { timeoutMs: 120_000, everyMs: 200 });
}

function manifestFile(variant: Variant): string {
  return join(ROOT, "manifests", variant);
}

/** Undefined when there is no Deployment: the one that will be made starts with the image that is there. */
async function noteOfDeployment(): Promise<string | undefined> {
  const path = `jsonpath={.metadata.annotations.${IMAGE_NOTE.replaceAll(".", "\\.")}}`;
  const found = await kubectl(["get", DEPLOYMENT, ...IN_NAMESPACE, "--ignore-not-found", "-o", "name"]);
  return found === "" ? undefined : kubectl(["get", DEPLOYMENT, ...IN_NAMESPACE, "-o", path]);
}

/** Restarts first and notes afterwards: whoever is interrupted in between only restarts once more. */
async function runThisCheckout(noted: string | undefined): Promise<void> {
  const image = await fileHash(join(DIST, "images", "valkey-operator.oci"));
  if (noted === image) return;
  if (noted !== undefined) await restartOperator();
  await kubectl(["annotate", DEPLOYMENT, ...IN_NAMESPACE, "--overwrite", `${IMAGE_NOTE}=${image}`]);
}
