/**
 * Under which rule a server takes writes: with enough replicas that have acknowledged lately. With more than any server
 * has it takes none, which is how it is fenced. The rule is the lease's to set, and nobody else's: what people want it to
 * be holds while the lease does.
 */
import type { Configuration } from "../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import { canonicalName } from "../valkey/setting-names.ts";

export const MIN_REPLICAS = "min-replicas-to-write";
export const MAX_LAG = "min-replicas-max-lag";

export interface WriteRule {
  readonly minReplicas: number;
  /** Seconds. */
  readonly maxLag: number;
}

/** More replicas than any server has. The lag must not be 0, which would make the server take writes all the same. */
export const FENCE: WriteRule = { minReplicas: 1_000_000, maxLag: 10 };

export function isFence({ minReplicas, maxLag }: WriteRule): boolean {
  return minReplicas >= FENCE.minReplicas && maxLag > 0;
}

export function sameRule(a: WriteRule, b: WriteRule): boolean {
  return a.minReplicas === b.minReplicas && a.maxLag === b.maxLag;
}

/** What people want it to be. */
export function wantedRule({ settings }: Pick<Configuration, "settings">): WriteRule {
  const value = (name: string, otherwise: number) => {
    const text = settings.findLast((setting) => canonicalName(setting.name) === name)?.value ?? "";
    return /^\d{1,9}$/u.test(text) ? Number(text) : otherwise;
  };
  return { minReplicas: value(MIN_REPLICAS, 0), maxLag: value(MAX_LAG, FENCE.maxLag) };
}

export function withoutRule(configuration: Configuration): Configuration {
  const others = configuration.settings.filter(({ name }) => ![MIN_REPLICAS, MAX_LAG].includes(canonicalName(name)));
  return { ...configuration, settings: others };
}

export function ruleLines({ minReplicas, maxLag }: WriteRule): readonly (readonly [string, string])[] {
  return [
    [MIN_REPLICAS, String(minReplicas)],
    [MAX_LAG, String(maxLag)],
  ];
}
