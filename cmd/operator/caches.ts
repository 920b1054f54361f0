/** Makes the caches: all in the scope of this operator, all counted, all known to the expectations. */
import { Cache } from "../../pkg/kube/cache.ts";
import type { IndexBy } from "../../pkg/kube/cache-index.ts";
import { cacheMetrics } from "../../pkg/kube/cache-metrics.ts";
import { observeCache } from "../../pkg/kube/cache-observer.ts";
import type { KubeClient, Selection } from "../../pkg/kube/client.ts";
import type { Expectations } from "../../pkg/kube/expectations.ts";
import type { Service } from "../../pkg/kube/manager.ts";
import { NamedCaches } from "../../pkg/kube/named-caches.ts";
import type { KubeObject, Resource } from "../../pkg/kube/resource.ts";
import type { Logger } from "../../pkg/log/log.ts";
import type { Registry } from "../../pkg/metrics/metrics.ts";
import type { OperatorFlags } from "./flags.ts";

interface Base {
  readonly log: Logger;
  readonly registry: Registry;
  readonly client: KubeClient;
}

export class Caches {
  readonly services: Service[] = [];
  readonly #flags: OperatorFlags;
  readonly #base: Base;
  readonly #expectations: Expectations;
  readonly #metrics;

  constructor(flags: OperatorFlags, base: Base, expectations: Expectations) {
    this.#flags = flags;
    this.#base = base;
    this.#expectations = expectations;
    this.#metrics = cacheMetrics(base.registry);
  }

  add<T extends KubeObject, I extends string = never>(
    resource: Resource<T>,
    selection: Omit<Selection, "namespace"> = {},
    indexes?: Readonly<Record<I, IndexBy<T>>>,
  ): Cache<T, I> {
    const { client, log } = this.#base;
    const scope = this.#flags.watchScope === "namespace" ? { namespace: this.#flags.namespace } : {};
    const { kind } = resource;
    const cache = new Cache<T, I>(client, {
      resource,
      selection: { ...selection, ...scope },
      ...(indexes === undefined ? {} : { indexes }),
      observer: observeCache(kind, this.#metrics(resource), log),
    });
    this.#expectations.watchedBy(
      resource,
      (key) => cache.byKey(key),
      () => cache.upTo,
    );
    const ready = (signal: AbortSignal) => cache.whenSynced(signal);
    this.services.push({ name: `cache of ${kind}`, run: (signal) => cache.run(signal), ready });
    return cache;
  }

  /** Of single objects that others own; which ones becomes known later. */
  named<T extends KubeObject>(resource: Resource<T>, what: string): NamedCaches<T> {
    const { client, log } = this.#base;
    const observer = observeCache(what, this.#metrics(resource), log);
    const caches = new NamedCaches<T>(client, { resource, observer });
    this.services.push({ name: `caches of ${what}`, run: (signal) => caches.run(signal) });
    return caches;
  }
}
