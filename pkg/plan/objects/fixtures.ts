/** Clusters for tests: a spec as the controllers would have resolved it, and everything else that a builder asks for. */
import type { ValkeyClusterSpec } from "../../api/cluster-spec.ts";
import { parseValkeyClusterTls, type ValkeyClusterTlsSpec } from "../../api/cluster-tls.ts";
import { BUILT_IN_DEFAULTS } from "../../api/defaults.ts";
import { API_VERSION } from "../../api/kind.ts";
import { type ResolvedClusterSpec, resolveSpec } from "../../api/resolve.ts";
import { operatorUrl, TRUST_DOMAIN } from "./names.ts";
import type { DesiredInput, OperatorFacts } from "./types.ts";

export const CLUSTER = { name: "shop", namespace: "prod", uid: "11111111-2222-3333-4444-555555555555" } as const;

export const OPERATOR: OperatorFacts = {
  namespace: "valkey-operator-system",
  url: operatorUrl("valkey-operator-system"),
  trustDomain: TRUST_DOMAIN,
  sidecarImage: "registry.example:5000/valkey-sidecar:0.1.0",
  version: "0.1.0",
};

export function resolved(spec: ValkeyClusterSpec = {}): ResolvedClusterSpec {
  return resolveSpec(BUILT_IN_DEFAULTS, undefined, undefined, spec);
}

/** With the API server's defaults filled in. */
export function tlsSpec(spec: object = {}): ValkeyClusterTlsSpec {
  return parseValkeyClusterTls({ apiVersion: API_VERSION, kind: "ValkeyClusterTls", metadata: { name: "tls" }, spec })
    .spec;
}

export const MATERIAL = { certificate: "CERTIFICATE", key: "KEY", authorities: "AUTHORITIES" } as const;

/** Passwords that can be told apart: `made-1`, `made-2`, … */
export function counting(): () => string {
  let count = 0;
  return () => `made-${++count}`;
}

export function inputOf(spec: ValkeyClusterSpec = {}, more: Partial<DesiredInput> = {}): DesiredInput {
  return {
    cluster: CLUSTER,
    spec: resolved(spec),
    previous: {},
    operator: OPERATOR,
    newPassword: counting(),
    now: new Date("2026-01-02T03:04:05Z"),
    ...more,
  };
}
