/** Never the last in-sync copy taken by us: who takes a pod away that the test did not take, and what was left then. */
import type { Member } from "../e2e/heal-members.ts";

export interface TakenCopy {
  readonly at: number;
  readonly pod: string;
  readonly shard: number;
}

export class CopyWatch {
  /** Pods that were the last in-sync copy of their shard when somebody else than the test took them away. */
  readonly taken: TakenCopy[] = [];
  readonly #ours = new Set<string>();
  #before: readonly Member[] = [];

  /** This pod's end is the test's own doing. */
  ours(uid: string): void {
    this.#ours.add(uid);
  }

  look(now: readonly Member[]): void {
    const alive = new Set(now.filter(({ leaving }) => !leaving).map(({ uid }) => uid));
    for (const gone of this.#before) {
      if (gone.leaving || alive.has(gone.uid) || this.#ours.has(gone.uid) || !hasCopy(gone)) continue;
      const others = [...this.#before, ...now].filter((one) => one.shard === gone.shard && one.uid !== gone.uid);
      if (others.some((one) => hasCopy(one) && alive.has(one.uid))) continue;
      this.taken.push({ at: Date.now(), pod: gone.pod, shard: gone.shard });
    }
    this.#before = now;
  }
}

function hasCopy({ role, following }: Member): boolean {
  return role === "primary" || following;
}
