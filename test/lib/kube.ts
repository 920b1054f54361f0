/** The API server that the tests run against, by KUBECONFIG. */
import { KubeClient } from "../../pkg/kube/client.ts";
import { type KubeConnection, loadConnection } from "../../pkg/kube/kube-config.ts";
import { NAMESPACES } from "../../pkg/kube/resource.ts";
import { KubeTransport } from "../../pkg/kube/transport.ts";

export function clientOf(connection: KubeConnection = loadConnection()): KubeClient {
  return new KubeClient(new KubeTransport(connection));
}

/** What a test has made in its namespace: every cluster puts a ConfigMap of its own into each. */
export function ownIn(namespace: string): { namespace: string; fieldSelector: string } {
  return { namespace, fieldSelector: "metadata.name!=kube-root-ca.crt" };
}

/** A namespace for one test, removed after it. Without a controller manager it stays terminating, which harms nobody. */
export async function withNamespace<T>(client: KubeClient, work: (namespace: string) => Promise<T>): Promise<T> {
  const name = `test-${crypto.randomUUID().slice(0, 8)}`;
  await client.create(NAMESPACES, { metadata: { name } });
  try {
    const result = await work(name);
    await client.delete(NAMESPACES, { name });
    return result;
  } catch (error) {
    // What went wrong first is what matters; whether the rest can still be cleaned up is not.
    await Promise.allSettled([client.delete(NAMESPACES, { name }, { deadlineMs: 5000 })]);
    throw error;
  }
}
