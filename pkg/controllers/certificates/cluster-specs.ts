/** The specs that clusters come to with their defaults, and the nodes that follow from them. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import { DEFAULTS_NAME, type ValkeyClusterDefaults } from "../../api/cluster-defaults.ts";
import { BUILT_IN_DEFAULTS } from "../../api/defaults.ts";
import { type ResolvedClusterSpec, resolveSpec } from "../../api/resolve.ts";
import type { Cache } from "../../kube/cache.ts";
import { membersOf, shardsOf, spareOf } from "../../plan/objects/members.ts";
import { nodeName } from "../../plan/objects/names.ts";

interface Resolved {
  readonly operator: ValkeyClusterDefaults | undefined;
  readonly namespace: ValkeyClusterDefaults | undefined;
  readonly spec: ResolvedClusterSpec;
}

export class ClusterSpecs {
  readonly #namespace: string;
  readonly #defaults: Cache<ValkeyClusterDefaults>;
  readonly #resolved = new WeakMap<ValkeyCluster, Resolved>();

  /** The namespace is the operator's own. */
  constructor(namespace: string, defaults: Cache<ValkeyClusterDefaults>) {
    this.#namespace = namespace;
    this.#defaults = defaults;
  }

  /** Resolving takes a moment and is asked for at every change of anything near: it is done once for each version. */
  of(cluster: ValkeyCluster): ResolvedClusterSpec {
    const operator = this.#layer(this.#namespace);
    const namespace = this.#layer(cluster.metadata.namespace);
    const known = this.#resolved.get(cluster);
    if (known !== undefined && known.operator === operator && known.namespace === namespace) return known.spec;
    const spec = resolveSpec(BUILT_IN_DEFAULTS, operator?.spec, namespace?.spec, cluster.spec);
    this.#resolved.set(cluster, { operator, namespace, spec });
    return spec;
  }

  #layer(namespace: string | undefined): ValkeyClusterDefaults | undefined {
    return this.#defaults.get({ namespace, name: DEFAULTS_NAME });
  }

  nodeNames(cluster: ValkeyCluster): readonly string[] {
    const spec = this.of(cluster);
    const spares = spec.update.strategy === "Surge" ? shardsOf(spec).map(spareOf) : [];
    return [...membersOf(spec), ...spares].map((place) => nodeName(cluster.metadata.name, place));
  }
}
