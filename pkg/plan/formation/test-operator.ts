/** The simulator's operator: what it has heard, what it remembers, and how its commands get lost on the way. */
import { goneStrangers } from "./forget.ts";
import { planFormation } from "./formation.ts";
import { sightingsText } from "./push.ts";
import { runnersOf } from "./shard.ts";
import type { FormationPlan, FormationStep } from "./step.ts";
import { command, stateOf } from "./test-agent.ts";
import type { Member, World } from "./test-world.ts";
import type { Contact, FormationInput, MemberView, NodeView, Pushed } from "./view.ts";

/** A number below `limit`; everything that happens by chance comes from here. */
export type Dice = (limit: number) => number;

interface Heard {
  readonly state: NodeView | undefined;
  readonly at: number;
}

export class SimOperator {
  readonly #world: World;
  readonly #heard = new Map<string, Heard>();
  readonly #pushed = new Map<string, Pushed>();
  readonly #strangers = new Map<string, number>();
  /** Commands that will arrive once more, or for the first time, when they are no longer expected. */
  readonly #late: FormationStep[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Another one takes over: it knows what the API server holds, and nothing else. */
  crash(): void {
    this.#heard.clear();
    this.#pushed.clear();
    this.#strangers.clear();
  }

  ask(member: Member): void {
    this.#heard.set(member.name, { state: stateOf(this.#world, member), at: this.#world.now });
  }

  /** The ValkeyNode's status follows what was heard. */
  record(member: Member): void {
    const id = this.#heard.get(member.name)?.state?.cluster?.id;
    if (id !== undefined) member.recordedId = id;
  }

  plan(): FormationPlan {
    const input = this.#input();
    const gone = goneStrangers(input, runnersOf(input.members));
    for (const id of this.#strangers.keys()) if (!gone.includes(id)) this.#strangers.delete(id);
    for (const id of gone) if (!this.#strangers.has(id)) this.#strangers.set(id, this.#world.now);
    return planFormation(this.#input());
  }

  /** Takes the steps; each may be lost, be taken late, or twice; the operator may die in between. */
  act({ steps }: FormationPlan, roll: Dice): void {
    for (const step of steps) {
      const fate = roll(20);
      if (fate === 0) return this.crash();
      if (fate === 1) continue;
      if (fate <= 3) this.#late.push(step);
      if (fate !== 2) this.#take(step);
    }
  }

  actSurely({ steps }: FormationPlan): void {
    for (const step of steps) this.#take(step);
  }

  takeLate(roll: Dice): void {
    const [step] = this.#late.splice(roll(Math.max(1, this.#late.length)), 1);
    if (step !== undefined) this.#command(step);
  }

  #take(step: FormationStep): void {
    if (!this.#command(step) || step.do !== "configure") return;
    const { bootId, sightings } = step;
    const given = { bootId, configurationHash: "c", secretsHash: "s", sightings: sightingsText(sightings), ageMs: 0 };
    this.#pushed.set(step.node, given);
  }

  #command(step: FormationStep): boolean {
    const member = this.#world.members.find(({ name }) => name === step.node);
    return member !== undefined && command(this.#world, member, step);
  }

  #input(): FormationInput {
    const { members, now, options } = this.#world;
    return {
      shards: options.shards,
      members: members.map((member) => this.#view(member)),
      wanted: { configurationHash: "c", secretsHash: "s" },
      strangersForMs: new Map([...this.#strangers].map(([id, since]) => [id, now - since])),
    };
  }

  #view(member: Member): MemberView {
    const { name, shard, recordedId, pod } = member;
    const podRuns = pod !== undefined;
    return {
      name,
      shard,
      member: member.member,
      ip: pod?.ip,
      podRuns,
      ran: undefined,
      recordedId,
      busy: undefined,
      oldVolume: false,
      wantedForMs: this.#world.now,
      hasVolume: this.#world.options.volumes,
      contact: this.#contact(member),
      pushed: this.#pushed.get(name),
    };
  }

  #contact({ name, pod }: Member): Contact {
    const heard = this.#heard.get(name);
    if (heard === undefined) return { known: "not-asked" };
    if (heard.state === undefined || pod === undefined) return { known: "unreachable", why: "it has no pod" };
    return { known: "answer", state: heard.state, ageMs: this.#world.now - heard.at, steadyMs: 60_000 };
  }
}
