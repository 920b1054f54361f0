/** Does what was planned for a node, and remembers what strangers had changed. */
import type { ValkeyNode } from "../../api/node.ts";
import type { Applier, ApplyOutcome } from "../../kube/apply.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { ActContext } from "../../kube/controller.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { type KubeObject, keyOf, PODS, type Resource } from "../../kube/resource.ts";
import type { NodeStep } from "../../plan/node/plan.ts";
import type { Drift } from "../../plan/node/view.ts";
import { bytesOf } from "../../plan/objects/bytes.ts";
import { ROLE_LABEL } from "../../plan/objects/names.ts";
import type { DesiredObject } from "../../plan/objects/types.ts";
import { liveWorkload, type NodeCaches } from "./observe.ts";
import { NODE_CLAIMS, NODE_DEPLOYMENTS, NODE_STATEFUL_SETS, OWN_SERVICES } from "./resources.ts";

export interface ActDeps {
  readonly client: KubeClient;
  readonly applier: Applier;
  readonly recorder: Pick<EventRecorder, "record">;
  readonly caches: NodeCaches;
  /** Milliseconds of the wall clock. */
  readonly wall: () => number;
}

/** Something that is in the way and that the user has to remove. */
export class Obstacle extends Error {
  override readonly name = "Obstacle";
}

export class NodeActor {
  readonly #deps: ActDeps;
  readonly #drifts = new Map<string, Drift>();
  /** UIDs of the nodes whose workload we have taken away ourselves. */
  readonly #recreating = new Set<string>();

  constructor(deps: ActDeps) {
    this.#deps = deps;
  }

  driftOf(key: string): Drift | undefined {
    return this.#drifts.get(key);
  }

  forget(key: string): void {
    this.#drifts.delete(key);
  }

  async act(node: ValkeyNode, step: NodeStep, context: ActContext): Promise<void> {
    switch (step.do) {
      case "apply-claim":
        return this.#applyClaim(node, step.object, context);
      case "apply-service":
        return this.#applyService(node, step.object, context);
      case "apply-workload":
        return this.#applyWorkload(node, step.object, context);
      case "recreate-workload":
        return this.#removeWorkload(node, step.field, context);
      case "replace-pod":
        return this.#deletePod(step.uid, context);
      case "drop-pod":
        return this.#dropPod(step.uid, context);
      case "label-role":
        return this.#label(step, context);
    }
  }

  async #applyClaim(node: ValkeyNode, object: DesiredObject, context: ActContext): Promise<void> {
    const live = this.#deps.caches.claims.get(object.metadata);
    const existed = node.status?.volume?.capacity !== undefined;
    try {
      await this.#apply(NODE_CLAIMS, object, { node, live, existed, context });
    } catch (error) {
      const { size } = node.spec.storage ?? {};
      const grows = live !== undefined && bytesOf(size) > bytesOf(live.spec.resources.requests["storage"]);
      if (!grows || !isKubeError(error, "forbidden", "invalid")) throw error;
      const { name } = object.metadata;
      throw new Obstacle(
        `the volume ${name} cannot grow to ${size}: ${error.message}. Everything else goes on; let its StorageClass grow volumes, or raise the quota`,
      );
    }
  }

  async #applyService(node: ValkeyNode, object: DesiredObject, context: ActContext): Promise<void> {
    const live = this.#deps.caches.services.get(object.metadata);
    const existed = node.status?.serviceName !== undefined;
    await this.#apply(OWN_SERVICES, object, { node, live, existed, context });
  }

  async #applyWorkload(node: ValkeyNode, object: DesiredObject, context: ActContext): Promise<void> {
    const { uid = "" } = node.metadata;
    const live = liveWorkload(this.#deps.caches, node);
    const existed = node.status?.pod !== undefined && !this.#recreating.has(uid);
    const request = { node, live, existed, context };
    if (object.kind === "Deployment") await this.#apply(NODE_DEPLOYMENTS, object, request);
    else await this.#apply(NODE_STATEFUL_SETS, object, request);
    this.#recreating.delete(uid);
  }

  async #apply<T extends KubeObject>(resource: Resource<T>, object: DesiredObject, request: Request): Promise<void> {
    const { live, context } = request;
    const { owner, signal, guard } = context;
    const outcome = await this.#deps.applier.apply(resource, object, { owner, live, signal, guard });
    this.#judge(outcome, object, request);
  }

  #judge(outcome: ApplyOutcome<KubeObject>, object: DesiredObject, { node, existed, context }: Request): void {
    const what = `${object.kind} ${object.metadata.name}`;
    switch (outcome.did) {
      case "nothing":
      case "change":
      // When it is gone its deletion wakes us again.
      case "terminating":
        return;
      case "create":
        if (existed) this.#drifted(node, context, { what, how: "was deleted by somebody else and was made again" });
        return;
      case "repair":
        this.#drifted(node, context, { what, how: `had ${outcome.path} changed by somebody else; it was put back` });
        return;
      case "contested":
        this.#drifted(node, context, { what, how: `has ${outcome.path} changed by somebody else again and again` });
        throw new Obstacle(
          `${what}: somebody changes ${outcome.path} again and again; it is put back in ${Math.ceil(outcome.retryInMs / 1000)} s. Find out who does it, and change the ValkeyCluster instead`,
        );
      case "foreign":
        throw new Obstacle(`${what} is in the way, and ${outcome.why}: it was left as it is. Remove or rename it`);
    }
  }

  #drifted(node: ValkeyNode, context: ActContext, { what, how }: { what: string; how: string }): void {
    this.#drifts.set(keyOf(node), { at: new Date(this.#deps.wall()), what: `${what} ${how}` });
    context.log.warn({ what, how }, "repaired drift");
    const { parent } = node.spec;
    const note = `${what} ${how}; to change it, edit ${parent.kind} ${parent.name}`;
    this.#deps.recorder.record({
      regarding: subjectOf(node),
      type: "Warning",
      reason: "DriftRepaired",
      action: "Repair",
      note,
    });
  }

  /** The pod stays, without an owner, until the next workload of the same name takes it over. */
  async #removeWorkload(node: ValkeyNode, field: string, { owner, signal, guard, log }: ActContext): Promise<void> {
    const { applier, caches } = this.#deps;
    const live = liveWorkload(caches, node);
    if (live === undefined) return;
    const resource = node.spec.podManagementType === "deployment" ? NODE_DEPLOYMENTS : NODE_STATEFUL_SETS;
    this.#recreating.add(node.metadata.uid ?? "");
    log.info({ kind: resource.kind, field }, "making a workload again, its pod stays");
    await applier.remove(resource, { live, owner, signal, guard, propagationPolicy: "Orphan" });
  }

  async #dropPod(uid: string, { owner, signal, guard, key }: ActContext): Promise<void> {
    const live = this.#podOf(key, uid);
    if (live === undefined) return;
    try {
      await this.#deps.applier.remove(PODS, { live, owner, signal, guard, gracePeriodSeconds: 0 });
    } catch (error) {
      // Some clusters forbid it for every pod. Then kubelet does it, when it has cleaned up.
      if (!isKubeError(error, "forbidden")) throw error;
    }
  }

  #podOf(key: string, uid: string): KubeObject | undefined {
    return this.#deps.caches.pods.byIndex("node", key).find(({ metadata }) => metadata.uid === uid);
  }

  async #deletePod(uid: string, { owner, signal, guard, key, log }: ActContext): Promise<void> {
    const live = this.#podOf(key, uid);
    if (live === undefined) return;
    log.info({ pod: live.metadata.name }, "replacing a pod, as its parent allows");
    await this.#deps.applier.remove(PODS, { live, owner, signal, guard });
  }

  async #label(step: NodeStep & { do: "label-role" }, { signal, guard, key }: ActContext): Promise<void> {
    const namespace = key.slice(0, key.indexOf("/"));
    // The uid keeps the label from a pod that took this one's place.
    const body = { metadata: { uid: step.uid, labels: { [ROLE_LABEL]: step.role } } };
    guard();
    try {
      await this.#deps.client.patch(PODS, { namespace, name: step.pod }, { type: "merge", body }, { signal });
    } catch (error) {
      if (!isKubeError(error, "not-found", "conflict")) throw error;
    }
  }
}

interface Request {
  readonly node: ValkeyNode;
  readonly live: KubeObject | undefined;
  /** Whether it was there before, so that its absence is somebody's doing. */
  readonly existed: boolean;
  readonly context: ActContext;
}

function subjectOf({ apiVersion, kind, metadata: { name, namespace, uid } }: ValkeyNode) {
  return { apiVersion, kind, name, namespace, uid };
}
