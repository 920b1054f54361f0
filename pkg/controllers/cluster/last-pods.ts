/**
 * Where the pods of nodes ran that are there no more, and whether kubelet has reported their end. Lost with the process:
 * what was not seen is not known, and is proof of nothing.
 */
import type { Cache } from "../../kube/cache.ts";
import type { CacheChange } from "../../kube/cache-store.ts";
import type { Ran } from "../../plan/formation/view.ts";
import { CR_LABEL, NODE_LABEL } from "../../plan/objects/names.ts";
import type { Machine, NodePodObject } from "../node/resources.ts";

type Machines = Pick<Cache<Machine>, "byKey"> | undefined;
type Last = Pick<Ran, "pod" | "machine" | "reported">;

/** Kubernetes takes a Node with it for off: it lets the volumes of its pods go elsewhere. */
const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";
/** The container whose end counts. */
const SERVER = "valkey";

export class LastPods {
  /** By cluster, then by node. */
  readonly #gone = new Map<string, Map<string, Last>>();

  constructor(pods: Pick<Cache<NodePodObject>, "subscribe">) {
    pods.subscribe((change) => this.#note(change));
  }

  /** `pods`: those that are there. One without a Node runs nowhere, and says nothing of the one before it. */
  of(cluster: string, node: string, pods: readonly NodePodObject[], machines: Machines): Ran | undefined {
    const placed = pods.flatMap((pod) => lastOf(pod) ?? []);
    const there = placed.find(({ reported }) => !reported) ?? placed[0];
    const last = there ?? this.#gone.get(cluster)?.get(node);
    if (last === undefined) return undefined;
    return { ...last, state: stateOf(machines, last.machine), away: there === undefined };
  }

  forget(cluster: string): void {
    this.#gone.delete(cluster);
  }

  #note({ type, object }: CacheChange<NodePodObject>): void {
    const { namespace = "", labels = {} } = object.metadata;
    const { [CR_LABEL]: cluster, [NODE_LABEL]: node } = labels;
    const last = lastOf(object);
    if (cluster === undefined || node === undefined || last === undefined) return;
    const key = `${namespace}/${cluster}`;
    const gone = this.#gone.get(key) ?? new Map<string, Last>();
    if (type === "delete") gone.set(node, last);
    else gone.delete(node);
    this.#gone.set(key, gone);
  }
}

function lastOf({ metadata, spec, status }: NodePodObject): Last | undefined {
  if (spec.nodeName === undefined) return undefined;
  return { pod: metadata.name, machine: spec.nodeName, reported: hasEnded(status) };
}

/** A pod that has succeeded or failed is not started again. Its phase alone may come from others than kubelet. */
function hasEnded({ phase, containerStatuses, initContainerStatuses }: NodePodObject["status"]): boolean {
  if (phase !== "Succeeded" && phase !== "Failed") return false;
  const all = [...containerStatuses, ...initContainerStatuses];
  const server = containerStatuses.some(({ name }) => name === SERVER);
  return server && all.every(({ state }) => state.running === undefined);
}

function stateOf(machines: Machines, name: string): Ran["state"] {
  if (machines === undefined) return "unknown";
  const machine = machines.byKey(name);
  if (machine === undefined || machine.taints.some(({ key }) => key === OUT_OF_SERVICE)) return "gone";
  return machine.ready?.status === "True" ? "ready" : "not-ready";
}
