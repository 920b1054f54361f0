/**
 * What handshakes with agents have told. It lives in the memory of the leader: a new one asks again. An answer counts
 * only for the pod it came from.
 */
import type { ValkeyNode } from "../../api/node.ts";
import { keyOf } from "../../kube/resource.ts";
import type { ProcessSight } from "../../plan/certificates/leaves.ts";

export interface Look {
  /** Thumbprint of what was shown; undefined when there was no handshake. */
  readonly shows: string | undefined;
  /** Roots under which we were accepted. */
  readonly accepts: readonly string[];
}

export interface Wanted {
  readonly shows: string;
  readonly accepts: readonly string[];
}

interface Memory {
  readonly pod: string;
  readonly sight: ProcessSight;
  readonly tries: number;
}

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
const AT_ONCE = new Date(0);

const FRESH: Omit<Memory, "pod"> = { sight: { shows: undefined, accepts: [], lookAt: AT_ONCE }, tries: 0 };

export class ProcessSights {
  readonly #memories = new Map<string, Memory>();
  readonly #listeners = new Set<(node: ValkeyNode) => void>();

  /** Undefined while the node has no pod that could be asked. */
  of(node: ValkeyNode): ProcessSight | undefined {
    const pod = node.status?.pod;
    if (pod?.ip === undefined || pod.ip === "") return undefined;
    const known = this.#memories.get(keyOf(node));
    return known?.pod === pod.uid ? known.sight : FRESH.sight;
  }

  /** `wanted`: what it should show. Until it does, it is asked again after a time that grows. */
  note(node: ValkeyNode, look: Look, wanted: Wanted): void {
    const pod = node.status?.pod?.uid;
    if (pod === undefined) return;
    const before = this.#memories.get(keyOf(node));
    this.#memories.set(keyOf(node), remembered(pod, before?.pod === pod ? before : FRESH, look, wanted));
    for (const listener of this.#listeners) listener(node);
  }

  /** Something was written for it: it is asked at once. */
  expectChange(node: ValkeyNode): void {
    const known = this.#memories.get(keyOf(node));
    if (known === undefined) return;
    this.#memories.set(keyOf(node), { ...known, tries: 0, sight: { ...known.sight, lookAt: AT_ONCE } });
  }

  forget(key: string): void {
    this.#memories.delete(key);
  }

  subscribe(on: (node: ValkeyNode) => void): () => void {
    this.#listeners.add(on);
    return () => void this.#listeners.delete(on);
  }
}

function remembered(pod: string, before: Omit<Memory, "pod">, look: Look, wanted: Wanted): Memory {
  const accepts = [...new Set([...before.sight.accepts, ...look.accepts])];
  const proven = look.shows === wanted.shows && wanted.accepts.every((root) => accepts.includes(root));
  const tries = proven ? 0 : before.tries + 1;
  const wait = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(tries, 10));
  const lookAt = new Date(Date.now() + wait);
  return { pod, tries, sight: { shows: look.shows ?? before.sight.shows, accepts, lookAt } };
}
