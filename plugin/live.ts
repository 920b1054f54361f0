/** Follows a cluster: tells of every change of its objects until it is told to stop. */
import { Cache, type CacheObserver } from "../pkg/kube/cache.ts";
import type { KubeClient } from "../pkg/kube/client.ts";
import type { KubeError } from "../pkg/kube/kube-error.ts";
import type { KubeObject, Resource } from "../pkg/kube/resource.ts";
import { CLUSTERS, NODES_OF_CLUSTERS, ofCluster, VALKEY_PODS } from "./cluster-objects.ts";
import type { Read } from "./picture.ts";
import type { ClusterName } from "./read-cluster.ts";

export interface Sight {
  /** Undefined when the cluster is gone. */
  readonly read: Read | undefined;
  /** What keeps the picture from being fresh; undefined when nothing does. */
  readonly lost: string | undefined;
}

const FIRST_MS = 15_000;

/** Many changes come at once; one look is enough for them. */
const SETTLE_MS = 80;

/**
 * Ends when the signal is aborted or `see` returns false. `everyMs` looks again even if nothing changes, for what grows
 * older on the screen.
 */
export async function follow(
  client: KubeClient,
  ref: ClusterName,
  options: { readonly everyMs?: number | undefined; readonly signal: AbortSignal },
  see: (sight: Sight) => boolean,
): Promise<void> {
  const end = new AbortController();
  const signal = AbortSignal.any([options.signal, end.signal]);
  const bell = new Bell();
  const state: { lost: string | undefined; podsHidden: boolean } = { lost: undefined, podsHidden: false };
  const watched = watchAll(client, ref, bell, state);
  const running = Promise.all(watched.caches.map(async (cache) => cache.run(signal)));
  try {
    const first = AbortSignal.any([signal, AbortSignal.timeout(FIRST_MS)]);
    await Promise.all(watched.needed.map(async (cache) => cache.whenSynced(first)));
    while (!signal.aborted && see({ read: watched.read(), lost: state.lost })) {
      await bell.rung(options.everyMs, signal);
      await Bun.sleep(SETTLE_MS);
    }
  } catch (error) {
    if (!options.signal.aborted) throw error;
  } finally {
    end.abort(new Error("no longer looked at"));
    await running;
  }
}

function watchAll(
  client: KubeClient,
  ref: ClusterName,
  bell: Bell,
  state: { lost: string | undefined; podsHidden: boolean },
) {
  const { namespace, name } = ref;
  const changed = () => {
    state.lost = undefined;
    bell.ring();
  };
  const failed = (_code: string, error: Error) => {
    state.lost = `the picture may be old: ${error.message}`;
    bell.ring();
  };
  const make = <T extends KubeObject>(resource: Resource<T>, selector: object, observer: CacheObserver): Cache<T> => {
    const timing = { maxBackoffMs: 2000, backoffMs: 100 };
    const cache = new Cache<T>(client, { resource, selection: { namespace, ...selector }, observer, timing });
    cache.subscribe(changed);
    return cache;
  };
  const watching = { failed, listed: changed };
  const clusters = make(CLUSTERS, { fieldSelector: `metadata.name=${name}` }, watching);
  const nodes = make(NODES_OF_CLUSTERS, { labelSelector: ofCluster(name) }, watching);
  const pods = make(
    VALKEY_PODS,
    { labelSelector: ofCluster(name) },
    {
      listed: changed,
      failed: (code, error: Error | KubeError) => {
        if (code === "forbidden") state.podsHidden = true;
        else failed(code, error);
      },
    },
  );
  const read = (): Read | undefined => {
    const cluster = clusters.get(ref);
    if (cluster === undefined) return undefined;
    return { cluster, nodes: nodes.list(), pods: state.podsHidden ? undefined : pods.list() };
  };
  return { caches: [clusters, nodes, pods], needed: [clusters, nodes], read };
}

/** Wakes one waiter; what rings while nobody waits is not lost. */
class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  async rung(everyMs: number | undefined, signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const timer = everyMs === undefined ? undefined : setTimeout(resolve, everyMs);
      signal.addEventListener("abort", () => resolve(), { once: true });
      await promise;
      clearTimeout(timer);
      this.#wake = undefined;
    }
    this.#rung = false;
  }
}
