/** Reads a cluster with the caller's rights, and says plainly when that is not possible. */
import type { KubeClient } from "../pkg/kube/client.ts";
import { isKubeError, KubeError } from "../pkg/kube/kube-error.ts";
import { CLUSTERS, NODES_OF_CLUSTERS, ofCluster, VALKEY_PODS } from "./cluster-objects.ts";
import { nearNames } from "./near.ts";
import type { Read } from "./picture.ts";

export interface ClusterName {
  readonly namespace: string;
  readonly name: string;
}

/** With what the plugin ends: a message for people, and no more. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

const CALL = { deadlineMs: 10_000 } as const;

export async function readCluster(client: KubeClient, ref: ClusterName): Promise<Read> {
  const selection = { namespace: ref.namespace, labelSelector: ofCluster(ref.name) };
  try {
    const [cluster, nodes, pods] = await Promise.all([
      client.get(CLUSTERS, ref, CALL),
      client.listAll(NODES_OF_CLUSTERS, selection, CALL),
      client.listAll(VALKEY_PODS, selection, CALL).catch(unlessForbidden),
    ]);
    return { cluster, nodes: nodes.items, pods: pods?.items };
  } catch (error) {
    throw await explained(client, ref, error);
  }
}

/** Pods add detail; without the right to see them the rest is still worth showing. */
function unlessForbidden(error: unknown): undefined {
  if (!isKubeError(error, "forbidden")) throw error;
}

export async function explained(client: KubeClient, ref: ClusterName, error: unknown): Promise<unknown> {
  if (isKubeError(error, "forbidden")) return new Unreadable(forbidden(ref, error));
  if (isKubeError(error, "not-found")) return new Unreadable(await missing(client, ref, error));
  if (error instanceof KubeError) return new Unreadable(error.message);
  return error;
}

function forbidden({ namespace }: ClusterName, { action }: KubeError): string {
  return (
    `you may not ${action}. In namespace ${namespace} this command needs the verbs get, list and watch ` +
    "on valkeyclusters and valkeynodes of API group valkey.io, and shows more with the same on pods"
  );
}

async function missing(client: KubeClient, ref: ClusterName, error: KubeError): Promise<string> {
  const { namespace, name } = ref;
  if (!error.serverMessage.includes(`"${name}"`)) {
    return (
      "this Kubernetes does not know ValkeyClusters: the operator is not installed. " +
      "Install it with: kubectl apply -f install.yaml (kubectl valkey version shows what is there)"
    );
  }
  const gone = `there is no ValkeyCluster ${name} in namespace ${namespace}`;
  return `${gone}. ${await alternatives(client, ref)}`;
}

async function alternatives(client: KubeClient, { namespace, name }: ClusterName): Promise<string> {
  const here = await namesIn(client, namespace);
  const near = nearNames(
    name,
    here.map((one) => one.name),
  );
  if (near.length > 0) return `Did you mean ${near.join(" or ")}?`;
  const everywhere = await namesIn(client, undefined);
  const elsewhere = everywhere.filter((one) => one.name === name).map((one) => one.namespace);
  if (elsewhere.length > 0) return `There is one in namespace ${elsewhere.slice(0, 5).join(", ")}: use -n`;
  if (here.length === 0) return "There are none in this namespace; -n chooses another";
  return `There are: ${here
    .slice(0, 10)
    .map((one) => one.name)
    .join(", ")}`;
}

/** None when the caller may not list them: this only helps with a mistake that is already told. */
async function namesIn(client: KubeClient, namespace: string | undefined): Promise<ClusterName[]> {
  try {
    const { items } = await client.listAll(CLUSTERS, namespace === undefined ? {} : { namespace }, CALL);
    return items.map(({ metadata }) => ({ name: metadata.name, namespace: metadata.namespace ?? "" }));
  } catch (error) {
    if (error instanceof KubeError) return [];
    throw error;
  }
}
