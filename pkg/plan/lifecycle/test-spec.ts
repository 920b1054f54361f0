/** Specs to begin a test with. */

import type { ValkeyClusterSpec } from "../../api/cluster-spec.ts";
import { BUILT_IN_DEFAULTS } from "../../api/defaults.ts";
import type { ValkeyNodeSpec } from "../../api/node.ts";
import { type ResolvedClusterSpec, resolveSpec } from "../../api/resolve.ts";

export function resolved(spec: ValkeyClusterSpec = {}): ResolvedClusterSpec {
  return resolveSpec(BUILT_IN_DEFAULTS, undefined, undefined, spec);
}

export function nodeSpec(shard: number, member: number, rest: Partial<ValkeyNodeSpec> = {}): ValkeyNodeSpec {
  return {
    parent: { kind: "ValkeyCluster", name: "c" },
    shard,
    member,
    podManagementType: "statefulset",
    suspended: false,
    podTemplate: { spec: { containers: [{ name: "valkey", image: "valkey:9.0" }] } },
    podRevision: "one",
    ...rest,
  };
}
