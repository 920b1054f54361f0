/** For how long each node has had its role, as far as its agent has said since this operator leads. */
import type { Clock } from "../../clock/clock.ts";
import type { ReportView } from "../../plan/node/view.ts";

type Role = ReportView["role"];

export class RoleTimes {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #known = new Map<string, { readonly role: Role; readonly since: number }>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Notes the role that the node has now; says for how many milliseconds it has had it. */
  note(key: string, role: Role): number {
    const now = this.#clock.monotonic();
    const known = this.#known.get(key);
    if (known?.role === role) return now - known.since;
    this.#known.set(key, { role, since: now });
    return 0;
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}
