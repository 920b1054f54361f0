/**
 * Makes objects be as wanted: server-side apply with one field manager, sent only when there is a difference.
 *
 * Every object of ours carries a hash of what was applied. Another hash means that we want something else now, removed
 * fields included; the same hash with a different field means that a stranger changed it. See
 * docs/decisions/0003-apply-only-on-difference.md. The cached object must hold the fields we apply: give kinds that we
 * write a cache without a narrow projection.
 *
 * What exists and is not ours is never touched, whatever its name.
 */
import { type Clock, systemClock } from "../clock/clock.ts";
import type { Counter, Registry } from "../metrics/metrics.ts";
import { contentHash, difference, type Json, rendition, toJson } from "./apply-compare.ts";
import { ApplyMemory, type Seen } from "./apply-memory.ts";
import type { ApplyOutcome, RemoveOutcome } from "./apply-outcome.ts";
import type { Body, DeleteOptions, KubeClient } from "./client.ts";
import type { Expectations } from "./expectations.ts";
import { isKubeError } from "./kube-error.ts";
import { controllerOf } from "./owner.ts";
import {
  defineResource,
  type KubeObject,
  type LooseObject,
  type Resource,
  type ResourceName,
  refOf,
} from "./resource.ts";

export type { ApplyOutcome, RemoveOutcome } from "./apply-outcome.ts";

export const FIELD_MANAGER = "valkey-operator";
export const HASH_ANNOTATION = "valkey.io/applied-hash";

export interface ApplierOptions {
  readonly client: Pick<KubeClient, "apply" | "find" | "delete">;
  /** Told of every write. */
  readonly expectations?: Expectations;
  readonly clock?: Clock;
  readonly metrics?: ApplyMetrics | undefined;
}

export interface ApplyMetrics {
  readonly writes: Counter<"kind" | "did">;
}

export function applyMetrics(registry: Registry): ApplyMetrics {
  const labels = ["kind", "did"] as const;
  return { writes: registry.counter({ name: "kube_writes_total", help: "Writes of objects by outcome.", labels }) };
}

export interface ApplyRequest {
  /** The key of the controller for which this is done. */
  readonly owner: string;
  /** As the cache shows it; undefined when it does not. */
  readonly live: KubeObject | undefined;
  readonly signal: AbortSignal;
  /** Called right before a write is sent; may throw, as when this process does not lead any more. */
  readonly guard?: () => void;
}

export class Applier {
  readonly #options: ApplierOptions;
  readonly #memory: ApplyMemory;

  constructor(options: ApplierOptions) {
    this.#options = options;
    this.#memory = new ApplyMemory(options.clock ?? systemClock);
  }

  async apply<T extends KubeObject>(
    resource: Resource<T>,
    wanted: Body,
    request: ApplyRequest,
  ): Promise<ApplyOutcome<T>> {
    const outcome = await this.#apply(resource, wanted, request);
    if (outcome.did !== "nothing") this.#options.metrics?.writes.inc({ kind: resource.kind, did: outcome.did });
    return outcome;
  }

  async #apply<T extends KubeObject>(
    resource: Resource<T>,
    wanted: Body,
    request: ApplyRequest,
  ): Promise<ApplyOutcome<T>> {
    const job = jobOf(resource, wanted);
    if (request.live === undefined) return this.#create(resource, job, request);
    return this.#change(resource, job, { ...request, live: request.live });
  }

  /**
   * A cache with a selector does not show what lacks our labels, so before something is made the server is asked. The
   * first apply takes no field by force: what another made in between is not run over.
   */
  async #create<T extends KubeObject>(
    resource: Resource<T>,
    job: Job,
    request: ApplyRequest,
  ): Promise<ApplyOutcome<T>> {
    const { signal } = request;
    const there = await this.#options.client.find(job.resource, job.ref, { signal });
    if (there !== undefined) return this.#change(resource, job, { ...request, live: there });
    request.guard?.();
    const made = await this.#options.client.apply(job.resource, job.body, { fieldManager: FIELD_MANAGER, signal });
    this.#noteWrite(job, made, request);
    return { did: "create", object: resource.parse(made) };
  }

  async #change<T extends KubeObject>(
    resource: Resource<T>,
    job: Job,
    request: ApplyRequest & { readonly live: KubeObject },
  ): Promise<ApplyOutcome<T>> {
    const { live } = request;
    const foreign = foreignness(job, live);
    if (foreign !== undefined) return { did: "foreign", why: foreign };
    if (live.metadata.deletionTimestamp !== undefined) return { did: "terminating" };
    const path = this.#drift(job, live);
    if (path === undefined) return { did: "nothing" };
    const id = live.metadata.uid ?? "";
    const changed = live.metadata.annotations?.[HASH_ANNOTATION] !== job.hash;
    const retryInMs = changed ? 0 : this.#memory.repairWaitMs(id);
    if (retryInMs > 0) return { did: "contested", path, retryInMs };
    const after = await this.#force(job, request);
    // Not by the version: another may have changed something else since `live` was read.
    if (difference(rendition(job.json, toJson(after)), toJson(live)) === undefined) return { did: "nothing" };
    if (changed) return { did: "change", object: resource.parse(after) };
    this.#memory.repaired(id);
    return { did: "repair", object: resource.parse(after), path };
  }

  /** The first field that is not as wanted; undefined when none is. */
  #drift(job: Job, live: KubeObject): string | undefined {
    const { uid = "", resourceVersion } = live.metadata;
    const seen = this.#memory.get(uid, job.hash);
    if (seen !== undefined && seen.resourceVersion === resourceVersion) return undefined;
    return difference(seen?.rendition ?? job.json, toJson(live));
  }

  /** The uid keeps it from bringing back, or running over, an object that took the place of the one decided on. */
  async #force(job: Job, request: ApplyRequest & { readonly live: KubeObject }): Promise<LooseObject> {
    const { uid } = request.live.metadata;
    const { signal } = request;
    request.guard?.();
    const body = { ...job.body, metadata: { ...job.body.metadata, uid } };
    const options = { fieldManager: FIELD_MANAGER, force: true, signal };
    const after = await this.#options.client.apply(job.resource, body, options);
    this.#noteWrite(job, after, request);
    return after;
  }

  #noteWrite(job: Job, after: LooseObject, request: ApplyRequest): void {
    const { uid = "", resourceVersion = "" } = after.metadata;
    const stored = toJson(after);
    const exact = difference(job.json, stored) === undefined;
    this.#memory.remember(uid, {
      hash: job.hash,
      resourceVersion,
      rendition: exact ? undefined : rendition(job.json, stored),
    });
    this.#options.expectations?.wrote(request.owner, job.resource, after);
  }

  /** The whole status is ours: what is not in `status` is removed. */
  async applyStatus<T extends KubeObject>(
    resource: Resource<T>,
    live: KubeObject,
    status: object,
    request: Omit<ApplyRequest, "live">,
  ): Promise<ApplyOutcome<T>> {
    const { name, namespace, uid = "" } = live.metadata;
    const id = `${uid}/status`;
    const wanted = toJson(status);
    const hash = contentHash(wanted);
    if (this.#statusIsRight(this.#memory.get(id, hash), wanted, live)) return { did: "nothing" };
    request.guard?.();
    const body = { metadata: { name, namespace, uid }, status };
    const options = { fieldManager: FIELD_MANAGER, force: true, signal: request.signal, subresource: "status" };
    const after = await this.#options.client.apply(defineResource(resource), body, options);
    const { resourceVersion = "" } = after.metadata;
    this.#memory.remember(id, { hash, resourceVersion, rendition: statusOf(after) });
    this.#options.expectations?.wrote(request.owner, resource, after);
    this.#options.metrics?.writes.inc({ kind: resource.kind, did: "status" });
    return { did: "change", object: resource.parse(after) };
  }

  #statusIsRight(seen: Seen | undefined, wanted: Json, live: KubeObject): boolean {
    if (seen !== undefined && seen.resourceVersion === live.metadata.resourceVersion) return true;
    return contentHash(statusOf(live)) === contentHash(seen?.rendition ?? wanted);
  }

  /** Deletes exactly the object that was decided on; with `resourceVersion` only in exactly that state. */
  async remove(resource: ResourceName, request: RemoveRequest): Promise<RemoveOutcome> {
    const { live, owner, signal, guard, ...options } = request;
    const { uid } = live.metadata;
    if (uid === undefined) throw new TypeError(`${resource.kind} ${live.metadata.name} has no uid to delete it by`);
    guard?.();
    try {
      const outcome = await this.#options.client.delete(resource, refOf(live), { ...options, uid, signal });
      if (outcome === "absent") return { did: "nothing" };
      this.#memory.forget(uid);
      this.#options.metrics?.writes.inc({ kind: resource.kind, did: "delete" });
      if (outcome === "terminating") return { did: "terminating" };
      this.#options.expectations?.deleted(owner, resource, live);
      return { did: "delete" };
    } catch (error) {
      if (isKubeError(error, "conflict")) return { did: "changed" };
      throw error;
    }
  }
}

export interface RemoveRequest extends Omit<ApplyRequest, "live">, Omit<DeleteOptions, "uid" | "signal"> {
  readonly live: KubeObject;
}

interface Job {
  readonly resource: Resource;
  readonly ref: ReturnType<typeof refOf>;
  readonly body: Body;
  readonly json: Json;
  readonly hash: string;
}

function jobOf(resource: ResourceName, wanted: Body): Job {
  const { metadata } = wanted;
  if ("stringData" in wanted) {
    throw new TypeError(
      `${resource.kind} ${metadata.name}: give data; the server drops stringData, so drift is not seen`,
    );
  }
  // The resource says them, and caches do not keep them.
  const { apiVersion: _version, kind: _kind, ...content } = wanted;
  const hash = contentHash(toJson(content));
  const body = {
    ...content,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [HASH_ANNOTATION]: hash } },
  };
  return { resource: defineResource(resource), ref: refOf(wanted), body, json: toJson(body), hash };
}

function statusOf(object: KubeObject): Json {
  return toJson(Object.getOwnPropertyDescriptor(object, "status")?.value ?? {});
}

/** Why an object that is there is not ours; undefined when it is. */
function foreignness(job: Job, live: KubeObject): string | undefined {
  const owner = controllerOf(job.body);
  const theirs = controllerOf(live);
  if (theirs !== undefined && theirs.uid !== owner?.uid) return `it belongs to ${theirs.kind} ${theirs.name}`;
  if (owner !== undefined && theirs !== undefined) return undefined;
  if (live.metadata.annotations?.[HASH_ANNOTATION] !== undefined) return undefined;
  return "it was not made by this operator";
}
