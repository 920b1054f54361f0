/**
 * The client of the API server: reads, writes and watches of any kind, each call with a deadline and an AbortSignal.
 *
 * Whatever the server sends passes the Resource's parser before a caller sees it, so types hold. Every failure is a
 * KubeError that says what was done to which object.
 */
import * as v from "valibot";
import { type ApiClass, apiOf } from "./client-api.ts";
import type * as o from "./client-options.ts";
import * as ask from "./client-request.ts";
import { errorOfReply, isKubeError, KubeError } from "./kube-error.ts";
import { collectionPath, type ObjectRef, objectPath, type Resource, type ResourceName } from "./resource.ts";
import type { KubeReply, KubeTransport } from "./transport.ts";
import { watch } from "./watch.ts";

export type * from "./client-options.ts";

const ListReply = v.object({
  metadata: v.object({ resourceVersion: v.optional(v.string(), ""), continue: v.optional(v.string()) }),
  items: v.nullish(v.array(v.unknown()), []),
});

const PAGE = 500;
const JSON_TYPE = "application/json";
/** Servers behind an aggregated API may not know it and send whole objects instead. */
const METADATA_ONLY = `application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${JSON_TYPE}`;

export class KubeClient {
  readonly transport: KubeTransport;

  constructor(transport: KubeTransport) {
    this.transport = transport;
  }

  async get<T>(resource: Resource<T>, ref: ObjectRef, options: o.CallOptions = {}): Promise<T> {
    const path = objectPath(resource, ref);
    return this.#object(resource, { ...options, path, action: ask.does("get", resource, ref) });
  }

  /** As `get`, but undefined when there is no such object. */
  async find<T>(resource: Resource<T>, ref: ObjectRef, options: o.CallOptions = {}): Promise<T | undefined> {
    try {
      return await this.get(resource, ref, options);
    } catch (error) {
      if (isKubeError(error, "not-found")) return undefined;
      throw error;
    }
  }

  /** One page. */
  async list<T>(resource: Resource<T>, query: o.ListQuery = {}, options: o.CallOptions = {}): Promise<o.Page<T>> {
    const path = collectionPath(resource, query.namespace) + ask.search(ask.listParameters(query));
    const action = ask.doesAll("list", resource, query);
    const accept = query.metadataOnly === true ? METADATA_ONLY : JSON_TYPE;
    const reply = await this.#send({ ...options, path, action, accept });
    const page = this.#parse(action, (value) => v.parse(ListReply, value), reply);
    const items = page.items.map((item) => this.#checked(action, resource.parse, ask.withKind(resource, item)));
    const more = page.metadata.continue ?? "";
    return { items, resourceVersion: page.metadata.resourceVersion, ...(more === "" ? {} : { continue: more }) };
  }

  /** Every page, as of one moment; when the list expires half-way it starts again, once. */
  async listAll<T>(resource: Resource<T>, query: o.ListQuery = {}, options: o.CallOptions = {}): Promise<o.Page<T>> {
    try {
      return await this.#pages(resource, query, options);
    } catch (error) {
      if (!isKubeError(error, "expired")) throw error;
      return this.#pages(resource, query, options);
    }
  }

  async #pages<T>(resource: Resource<T>, query: o.ListQuery, options: o.CallOptions): Promise<o.Page<T>> {
    const first = await this.list(resource, { limit: PAGE, ...query }, options);
    const items = [...first.items];
    let next = first.continue;
    while (next !== undefined) {
      const further = { ...query, resourceVersion: undefined, resourceVersionMatch: undefined, continue: next };
      const page = await this.list(resource, { limit: PAGE, ...further }, options);
      items.push(...page.items);
      next = page.continue;
    }
    return { items, resourceVersion: first.resourceVersion };
  }

  async create<T>(resource: Resource<T>, body: o.NewBody, options: o.WriteOptions = {}): Promise<T> {
    const { namespace, name, generateName } = body.metadata;
    const action = ask.does("create", resource, { namespace, name: name ?? `${generateName ?? ""}*` });
    const path = collectionPath(resource, namespace) + ask.search(ask.writeParameters(options));
    return this.#object(resource, {
      ...ask.calls(options),
      method: "POST",
      path,
      action,
      body: ask.ofKind(resource, body),
    });
  }

  /** Replaces the object; with metadata.resourceVersion only if nobody changed it since. */
  async update<T>(resource: Resource<T>, body: o.Body, options: o.SubresourceOptions = {}): Promise<T> {
    const action = ask.does("update", resource, body.metadata, options.subresource);
    const path = objectPath(resource, body.metadata, options.subresource) + ask.search(ask.writeParameters(options));
    return this.#object(resource, {
      ...ask.calls(options),
      method: "PUT",
      path,
      action,
      body: ask.ofKind(resource, body),
    });
  }

  /** Server-side apply. Nothing is lost by sending it twice, so a broken connection is tried again. */
  async apply<T>(resource: Resource<T>, body: o.Body, options: o.ApplyOptions): Promise<T> {
    const { force, subresource } = options;
    const parameters = { ...ask.writeParameters(options), force: force === true ? "true" : undefined };
    return this.#object(resource, {
      ...ask.calls(options),
      method: "PATCH",
      path: objectPath(resource, body.metadata, subresource) + ask.search(parameters),
      action: ask.does("apply", resource, body.metadata, subresource),
      body: ask.ofKind(resource, body),
      contentType: "application/apply-patch+yaml",
      idempotent: true,
    });
  }

  async patch<T>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: o.Patch,
    options: o.SubresourceOptions = {},
  ): Promise<T> {
    const merge = patch.type === "merge";
    return this.#object(resource, {
      ...ask.calls(options),
      method: "PATCH",
      path: objectPath(resource, ref, options.subresource) + ask.search(ask.writeParameters(options)),
      action: ask.does("patch", resource, ref, options.subresource),
      body: merge ? patch.body : patch.operations,
      contentType: merge ? "application/merge-patch+json" : "application/json-patch+json",
      idempotent: merge,
    });
  }

  async delete(resource: ResourceName, ref: ObjectRef, options: o.DeleteOptions = {}): Promise<o.DeleteOutcome> {
    const { uid, resourceVersion, gracePeriodSeconds, propagationPolicy = "Background" } = options;
    const preconditions = uid === undefined && resourceVersion === undefined ? undefined : { uid, resourceVersion };
    const action = ask.does("delete", resource, ref);
    const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy, gracePeriodSeconds, preconditions };
    try {
      const path = objectPath(resource, ref);
      // Repeating a delete without a UID could hit an object made in between by the same name.
      const reply = await this.#send({
        ...ask.calls(options),
        method: "DELETE",
        path,
        action,
        body,
        idempotent: uid !== undefined,
      });
      return this.#parse(action, ask.deleteOutcome, reply);
    } catch (error) {
      if (isKubeError(error, "not-found")) return "absent";
      throw error;
    }
  }

  /**
   * One watch connection. Calls `on` for each frame in order; resolves when the server ends the watch in good order,
   * throws a KubeError when it expired (`expired`: list again), broke, fell silent (`idle`) or was aborted.
   */
  async watch<T>(
    resource: Resource<T>,
    query: o.WatchQuery,
    on: (event: o.WatchEvent<T>) => void,
    options: o.WatchOptions,
  ): Promise<void> {
    const { namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds } = query;
    const parameters = {
      watch: "true",
      allowWatchBookmarks: "true",
      resourceVersion,
      labelSelector,
      fieldSelector,
      timeoutSeconds: timeoutSeconds?.toFixed(0),
    };
    const path = collectionPath(resource, namespace) + ask.search(parameters);
    await watch(
      this.transport,
      { path, action: ask.doesAll("watch", resource, query), parse: resource.parse },
      on,
      options,
    );
  }

  /** Any request; the answer's body as text. Not 2xx is a KubeError. */
  async raw(request: o.RawRequest): Promise<string> {
    const { method = "GET", path } = request;
    const reply = await this.#send({
      ...request,
      action: request.action ?? `${method} ${path.split("?", 1)[0] ?? ""}`,
    });
    return reply.body;
  }

  /** An API class of @kubernetes/client-node, sent through this transport. */
  api<T>(cls: ApiClass<T>): T {
    return apiOf(this.transport, cls);
  }

  close(): void {
    this.transport.close();
  }

  async #object<T>(resource: Resource<T>, request: Call): Promise<T> {
    return this.#parse(request.action, resource.parse, await this.#send(request));
  }

  async #send(call: Call): Promise<KubeReply> {
    const { method = "GET", accept = JSON_TYPE, contentType = JSON_TYPE, body, idempotent = method === "GET" } = call;
    const content = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    const reply = await this.transport.send({
      action: call.action,
      method,
      path: call.path,
      headers: content === undefined ? { accept } : { accept, "content-type": contentType },
      body: content,
      idempotent,
      signal: call.signal,
      deadlineMs: call.deadlineMs,
      retryTooMany: call.retryTooMany,
    });
    if (reply.status >= 200 && reply.status < 300) return reply;
    throw errorOfReply({ action: call.action, ...reply });
  }

  #parse<T>(action: string, parse: (value: unknown) => T, reply: KubeReply): T {
    return this.#checked(action, (text) => parse(JSON.parse(text)), reply.body);
  }

  #checked<I, T>(action: string, parse: (value: I) => T, value: I): T {
    try {
      return parse(value);
    } catch (cause) {
      throw new KubeError({
        code: "bad-response",
        action,
        message: `the answer cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`,
        cause,
      });
    }
  }
}

interface Call extends o.RawRequest {
  readonly action: string;
  readonly idempotent?: boolean;
}
