/** What happens in a run of chaos, decided by its seed alone: the same seed does the same things in the same order. */
import { Random } from "../../pkg/sim/random.ts";
import type { Shape } from "../e2e/heal-cluster.ts";
import { SHARDS } from "../lib/losses.ts";

export const KINDS = [
  "crash",
  "crash-replica",
  "crash-without-api",
  "kill-agent",
  "freeze",
  "delete",
  "force-delete",
  "cut",
  "power-cut",
  "lossy-link",
  "load",
  "api-server-away",
  "operator-killed",
  "setting",
  "roll",
] as const;
export type Kind = (typeof KINDS)[number];

/** What may happen beside another fault: nothing that takes a copy of any data away, or what the other one needs. */
const COMPANIONS = ["operator-killed", "lossy-link", "load"] as const;

export interface Act {
  readonly kind: Kind;
  readonly shard: number;
  /** Chooses among whatever there is to choose from when its time comes. */
  readonly choice: number;
  /** How long it lasts, if it is something that lasts. */
  readonly lastsMs: number;
  /** Goes on meanwhile. */
  readonly companion?: Act;
}

export interface ChaosShape extends Shape {
  readonly volumes: boolean;
}

const LONGEST_CHOICE = 1_000_000;

export function shapeOf(seed: number): ChaosShape {
  const random = new Random(seed);
  return {
    version: random.pick(["8.1", "9.1"]),
    replicas: random.once(3) ? 2 : 1,
    volumes: random.once(2),
  };
}

/** Without end; every kind comes once before any comes again, in an order of the seed's. */
export function* acts(seed: number): Generator<Act, never> {
  const random = new Random(seed ^ 0x5eed);
  for (;;) {
    const kinds: Kind[] = [...KINDS];
    while (kinds.length > 0) {
      const [kind] = kinds.splice(random.below(kinds.length), 1);
      if (kind !== undefined) yield actOf(kind, random);
    }
  }
}

function actOf(kind: Kind, random: Random): Act {
  const act = plainAct(kind, random);
  if (COMPANIONS.some((one) => one === kind) || kind.includes("api") || !random.once(4)) return act;
  return { ...act, companion: plainAct(random.pick(COMPANIONS), random) };
}

function plainAct(kind: Kind, random: Random): Act {
  return {
    kind,
    shard: random.below(SHARDS),
    choice: random.below(LONGEST_CHOICE),
    lastsMs: random.between(500, 8000),
  };
}
