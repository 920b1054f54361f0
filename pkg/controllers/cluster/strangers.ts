/** Since when ids that are no member's have looked gone. Lost with the leader: the next one counts anew. */
import { goneStrangers } from "../../plan/formation/forget.ts";
import { runnersOf } from "../../plan/formation/shard.ts";
import type { MemberView } from "../../plan/formation/view.ts";

export class Strangers {
  readonly #since = new Map<string, Map<string, number>>();

  /** `now`: of the clock that never goes back. */
  forMs(key: string, members: readonly MemberView[], now: number): ReadonlyMap<string, number> {
    const before = this.#since.get(key) ?? new Map<string, number>();
    const input = { shards: 0, members, wanted: { configurationHash: "", secretsHash: "" }, strangersForMs: new Map() };
    const gone = goneStrangers(input, runnersOf(members));
    const since = new Map(gone.map((id) => [id, before.get(id) ?? now]));
    if (since.size === 0) this.#since.delete(key);
    else this.#since.set(key, since);
    return new Map([...since].map(([id, at]) => [id, now - at]));
  }

  forget(key: string): void {
    this.#since.delete(key);
  }
}
