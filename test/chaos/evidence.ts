/** What the pods and agents of a cluster say, for whoever has to find out what went wrong. */
import { kubectl } from "../e2e/cluster.ts";
import { type ClusterRef, podsOf } from "../e2e/clusters.ts";

const LINES = "400";

export async function evidence(ref: ClusterRef): Promise<string> {
  const { namespace, name } = ref;
  const parts = [await said(["get", "pods", "-n", namespace, "-o", "wide"])];
  parts.push(await said(["get", "vc", name, "-n", namespace, "-o", "jsonpath={.status}"]));
  for (const { metadata } of await podsOf(ref).catch(() => [])) {
    const pod = ["-n", namespace, metadata.name];
    parts.push(await said(["logs", ...pod, "-c", "agent", `--tail=${LINES}`]));
    parts.push(await said(["logs", ...pod, "-c", "valkey", `--tail=${LINES}`]));
  }
  return parts.join("\n");
}

async function said(args: readonly string[]): Promise<string> {
  const text = await kubectl(args).catch((error: unknown) => String(error));
  return `$ kubectl ${args.join(" ")}\n${text}`;
}
