/** One run of the simulator: what happens, in which order, and whether it may have. */
import { type Dice, SimOperator } from "./test-operator.ts";
import { type Member, World, type WorldOptions } from "./test-world.ts";

/** Small and good enough: the same seed tells the same story. */
function dice(seed: number): Dice {
  let state = seed | 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * limit);
  };
}

export class Story {
  readonly world: World;
  readonly operator: SimOperator;
  readonly #roll: Dice;
  #before: Set<number> = new Set();

  constructor(options: WorldOptions, seed: number) {
    this.world = new World(options);
    this.operator = new SimOperator(this.world);
    this.#roll = dice(seed);
  }

  any(): Member {
    const { members } = this.world;
    const member = members[this.#roll(members.length)];
    if (member === undefined) throw new Error("a world without members");
    return member;
  }

  /** Only these may make writes vanish. */
  #faults: readonly (() => void)[] = [
    () => this.world.killPod(this.any(), "kept"),
    () => this.world.killPod(this.any(), "lags"),
    () => this.world.killPod(this.any(), "destroyed"),
    () => this.world.killServer(this.any(), false),
    () => this.world.killServer(this.any(), true),
    () => this.operator.crash(),
  ];

  #events: readonly (() => void)[] = [
    () => this.world.startPod(this.any()),
    () => this.world.startPod(this.any()),
    () => this.world.tryGate(this.any()),
    () => this.world.tryGate(this.any()),
    () => this.world.gossip(this.any(), this.any()),
    () => this.world.gossip(this.any(), this.any()),
    () => this.world.replicate(this.any()),
    () => this.world.detect(this.any()),
    () => this.world.write(this.any()),
    () => this.operator.ask(this.any()),
    () => this.operator.ask(this.any()),
    () => this.#askAll(),
    () => this.operator.record(this.any()),
    () => this.#askAll(),
    () => this.operator.takeLate(this.#roll),
    () => this.operator.act(this.operator.plan(), this.#roll),
    () => this.operator.act(this.operator.plan(), this.#roll),
    () => this.operator.act(this.operator.plan(), this.#roll),
  ];

  #askAll(): void {
    for (const member of this.world.members) this.operator.ask(member);
    for (const member of this.world.members) this.operator.record(member);
  }

  /** Something happens; gives what may not have. */
  happen(faultOf: number): string | undefined {
    this.world.now += this.#roll(500);
    const faulty = this.#roll(faultOf) === 0;
    const choices = faulty ? this.#faults : this.#events;
    choices[this.#roll(choices.length)]?.();
    const after = this.world.writes();
    const lost = faulty ? [] : [...this.#before].filter((write) => !after.has(write));
    this.#before = after;
    return lost.length === 0 ? undefined : `writes ${lost.join()} vanished`;
  }

  /** Everything works again. Gives what is still wrong after a while. */
  settle(): string[] {
    for (let round = 0; round < 150; round += 1) {
      this.#round();
      const after = this.world.writes();
      if ([...this.#before].some((write) => !after.has(write))) return ["writes vanished while it settled"];
      this.#before = after;
      const { steps, holds } = this.operator.plan();
      if (this.world.faults().length === 0 && steps.length === 0 && holds.length === 0) return [];
    }
    const { steps, holds } = this.operator.plan();
    const planned = steps.map((step) => JSON.stringify(step));
    return [
      ...this.world.faults(),
      ...planned,
      ...holds.map(({ name, reason }) => `${name}: ${reason}`),
      "not settled",
    ];
  }

  #round(): void {
    const { world } = this;
    world.now += 1000;
    for (const member of world.members) world.startPod(member);
    for (const member of world.members) world.tryGate(member);
    for (const a of world.members) for (const b of world.members) world.gossip(a, b);
    for (const member of world.members) world.replicate(member);
    for (const member of world.members) world.detect(member);
    this.#askAll();
    this.operator.actSurely(this.operator.plan());
  }
}
