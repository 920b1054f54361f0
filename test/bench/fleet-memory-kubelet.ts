/**
 * Plays kubelet for the pods of one namespace: gives each an address, starts its played agent there, and writes the
 * status that a kubelet would write, first running and then ready.
 */
import { createHash } from "node:crypto";
import * as v from "valibot";
import { WHOLE_SECRETS } from "../../pkg/controllers/certificates/certificate-secret.ts";
import { Cache } from "../../pkg/kube/cache.ts";
import type { KubeClient } from "../../pkg/kube/client.ts";
import { keyOf, ObjectMetaSchema, PODS, typed } from "../../pkg/kube/resource.ts";
import type { Logger } from "../../pkg/log/log.ts";
import {
  CR_LABEL,
  identitySecretName,
  NODE_LABEL,
  NODE_SELECTOR,
  PARENT_KIND,
  TRUST_DOMAIN,
} from "../../pkg/plan/objects/names.ts";
import type { TlsIdentity } from "../../pkg/rpc/identity.ts";
import type { RpcMetrics } from "../../pkg/rpc/rpc-metrics.ts";
import { PlayedAgent } from "./fleet-memory-agent.ts";
import { type PlayedServer, playedServer } from "./fleet-memory-model.ts";

export interface PlayedKubeletOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Of the n-th pod. */
  readonly addressOf: (n: number) => string;
  readonly operatorUrl: string;
  readonly operatorNamespace: string;
  readonly metrics: RpcMetrics;
  readonly log: Logger;
}

const Pod = v.object({
  metadata: v.pick(ObjectMetaSchema, ["name", "namespace", "uid", "resourceVersion", "labels"]),
  spec: v.object({
    nodeName: v.optional(v.string()),
    initContainers: v.optional(v.array(v.object({ name: v.string(), image: v.string() })), []),
    containers: v.array(v.object({ name: v.string(), image: v.string() })),
  }),
});
type Pod = v.InferOutput<typeof Pod>;
const PLAYED_PODS = typed(PODS, (value) => v.parse(Pod, value));

interface PlayedPod {
  readonly pod: Pod;
  readonly server: PlayedServer;
  readonly startedAt: string;
  agent: PlayedAgent | undefined;
  /** What was written last. */
  ready: boolean;
}

export class PlayedKubelet {
  readonly #options: PlayedKubeletOptions;
  readonly #pods = new Map<string, PlayedPod>();
  readonly #clusters = new Map<string, PlayedPod[]>();

  constructor(options: PlayedKubeletOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, namespace, log } = this.#options;
    const cache = new Cache(client, {
      resource: PLAYED_PODS,
      selection: { namespace, labelSelector: NODE_SELECTOR },
      observer: { failed: (code, error) => log.warn({ code, reason: error.message }, "the watch of pods failed") },
    });
    cache.subscribe(({ type, object }) => {
      if (type !== "delete") this.#seen(object, signal);
    });
    await cache.run(signal);
  }

  #seen(pod: Pod, signal: AbortSignal): void {
    if (pod.spec.nodeName === undefined || this.#pods.has(keyOf(pod))) return;
    const ip = this.#options.addressOf(this.#pods.size);
    const id = createHash("sha1")
      .update(pod.metadata.uid ?? pod.metadata.name)
      .digest("hex");
    const played: PlayedPod = {
      pod,
      server: playedServer(id, ip),
      startedAt: new Date().toISOString(),
      agent: undefined,
      ready: false,
    };
    this.#pods.set(keyOf(pod), played);
    const cluster = pod.metadata.labels?.[CR_LABEL] ?? "";
    this.#clusters.set(cluster, [...(this.#clusters.get(cluster) ?? []), played]);
    this.#start(played, cluster, signal).catch((error: unknown) => this.#failed(played, error));
  }

  async #start(played: PlayedPod, cluster: string, signal: AbortSignal): Promise<void> {
    const { namespace, ...rest } = this.#options;
    const node = played.pod.metadata.labels?.[NODE_LABEL] ?? "";
    const mates = () => this.#clusters.get(cluster) ?? [];
    played.agent = await PlayedAgent.start({
      ...rest,
      node: { role: "node", trustDomain: TRUST_DOMAIN, namespace, kind: PARENT_KIND, name: cluster, node },
      server: played.server,
      identity: await this.#identityOf(node),
      at: (ip) => mates().find(({ server }) => server.ip === ip)?.server,
      changed: () => {
        for (const mate of mates()) this.#changed(mate);
      },
      signal,
    });
    await this.#writeStatus(played);
  }

  async #identityOf(node: string): Promise<TlsIdentity> {
    const { client, namespace } = this.#options;
    const { data } = await client.get(WHOLE_SECRETS, { namespace, name: identitySecretName(node) });
    const text = (file: string) => Buffer.from(data[file] ?? "", "base64").toString("utf8");
    return { certificate: text("tls.crt"), key: text("tls.key"), authorities: text("ca.crt") };
  }

  #changed(played: PlayedPod): void {
    const { agent } = played;
    agent?.poke();
    if (agent === undefined || agent.ready === played.ready) return;
    played.ready = agent.ready;
    this.#writeStatus(played).catch((error: unknown) => this.#failed(played, error));
  }

  #failed({ pod }: PlayedPod, error: unknown): void {
    this.#options.log.error({ err: error, pod: pod.metadata.name }, "a pod cannot be played");
  }

  async #writeStatus(played: PlayedPod): Promise<void> {
    const { client, namespace } = this.#options;
    const { name } = played.pod.metadata;
    const patch = { type: "merge", body: { status: statusOf(played) } } as const;
    await client.patch(PODS, { namespace, name }, patch, { subresource: "status" });
  }
}

function statusOf({ pod, server, ready, startedAt }: PlayedPod) {
  const condition = (type: string, holds: boolean) => ({
    type,
    status: holds ? "True" : "False",
    lastTransitionTime: startedAt,
  });
  const running = ({ name, image }: Pod["spec"]["containers"][number], isReady: boolean) => ({
    name,
    image,
    imageID: image,
    containerID: `played://${server.id}${name}`,
    ready: isReady,
    started: true,
    restartCount: 0,
    state: { running: { startedAt } },
  });
  return {
    phase: "Running",
    podIP: server.ip,
    podIPs: [{ ip: server.ip }],
    startTime: startedAt,
    conditions: [
      ...["PodReadyToStartContainers", "Initialized", "PodScheduled"].map((type) => condition(type, true)),
      ...["ContainersReady", "Ready"].map((type) => condition(type, ready)),
    ],
    initContainerStatuses: pod.spec.initContainers.map((container) => running(container, ready)),
    containerStatuses: pod.spec.containers.map((container) => running(container, true)),
  };
}
