/** An agent's process: it runs the real rules, carries out what they say, and can be killed at any moment. */
import { type AgentState, bornAgent, type Input, step } from "../plan/lease/agent-core.ts";
import type { Output, Persisted, ServerSight } from "../plan/lease/context.ts";
import type { Message } from "../plan/lease/message.ts";
import type { Node } from "./node.ts";
import { sightOf } from "./sight.ts";
import { beginEra, forceFailover, raiseEpoch, takeOver } from "./valkey-bus.ts";
import type { World } from "./world.ts";

type Command = Output & { readonly do: "fence" | "unfence" | "promote" };
type Control = Command | (Output & { readonly do: "kill" | "stop" | "open-gate" });

const MOST_COMMAND_MS = 10;

export class AgentProcess {
  up = false;
  boots = 0;
  state: AgentState | undefined = undefined;
  /** On the pod's tmpfs. */
  persisted: Persisted | undefined = undefined;
  /** What the server last answered: while it is silent, the agent knows no better. */
  lastSight: ServerSight | undefined = undefined;

  /** Within how much of the true time its clock runs, and what it showed at the beginning. */
  readonly #rate: number;
  readonly #offset: number;

  constructor(rate: number, offset: number) {
    this.#rate = rate;
    this.#offset = offset;
  }

  clock(now: number): number {
    return now * this.#rate + this.#offset;
  }

  start(world: World, node: Node): void {
    this.up = true;
    this.boots += 1;
    const self = { ...world.memberOf(node), boot: `${node.name}#${this.boots}` };
    const server = sightOf(world, node);
    const now = this.clock(world.now);
    this.state = bornAgent({ self, deployment: world.deployment, server, now, persisted: this.persisted });
    world.log(`agent ${node.name} starts${this.persisted === undefined ? " without memory" : ""}`);
    this.feed(world, node, { kind: "sightings", ...world.sightings() });
    this.tick(world, node);
  }

  kill(): void {
    this.up = false;
    this.state = undefined;
    this.lastSight = undefined;
  }

  tick(world: World, node: Node): void {
    if (!this.up || node.gone || node.frozen) return;
    this.lastSight = sightOf(world, node);
    this.feed(world, node, { kind: "tick", server: this.lastSight });
  }

  feed(world: World, node: Node, input: Input): void {
    if (!this.up || this.state === undefined) return;
    const before = this.state;
    const [state, outputs] = step(before, input, world.rules, this.clock(world.now));
    this.state = state;
    if (state.holder !== before.holder) world.watch.leased(node, before.holder, state.holder);
    for (const output of outputs) this.#carryOut(world, node, output);
  }

  #carryOut(world: World, node: Node, output: Output): void {
    if (output.do === "send") send(world, node, output.message);
    else if (output.do === "persist") this.persisted = output.what;
    else if (output.do === "probe") probe(world, node, output.node);
    else if (output.do === "end-handover") world.handoverEnded(node, output.result);
    else this.#control(world, node, output);
  }

  #control(world: World, node: Node, output: Control): void {
    if (output.do === "kill" || output.do === "stop") {
      world.log(`agent ${node.name}: ${output.do}: ${output.why}`);
      world.endServer(node, output.do === "stop" ? "current" : world.shape.disk);
    } else if (output.do === "open-gate") world.openGate(node, output.as, output.of);
    else this.#command(world, node, output);
  }

  /** A command takes a moment; a server that is frozen carries it out when it thaws, if it lives. */
  #command(world: World, node: Node, output: Command): void {
    const run = node.server.run;
    const boot = this.boots;
    const carryOut = (): void => {
      if (node.gone || node.server.run !== run || node.server.phase !== "running") return;
      if (node.frozen || node.server.frozen) {
        world.events.after(20, carryOut);
        return;
      }
      const late = "notAfter" in output && this.clock(world.now) > output.notAfter;
      if (late || !this.up || this.boots !== boot) return;
      obey(world, node, output);
      world.wakeAgent(node, 1);
    };
    world.events.after(1 + world.random.below(MOST_COMMAND_MS + world.shape.busyMs / 5), carryOut);
  }
}

const PROMOTIONS = { FORCE: forceFailover, TAKEOVER: takeOver, RAISE: raiseEpoch };

function obey(world: World, node: Node, output: Command): void {
  if (output.do === "promote") {
    world.log(`agent ${node.name} promotes: ${output.how}`);
    return PROMOTIONS[output.how](world, node);
  }
  const fenced = output.do === "fence";
  if (node.server.fenced !== fenced) world.log(`${node.name} is ${fenced ? "fenced" : "open for writes"}`);
  node.server.fenced = fenced;
  if (!fenced) beginEra(node);
}

function send(world: World, from: Node, message: Message): void {
  const to = world.named(message.to);
  if (to === undefined || !world.network.passes("agents", from.index, to.index)) return;
  for (const delay of world.network.delays()) world.events.after(delay, () => arrive(world, to, message));
}

function arrive(world: World, to: Node, message: Message): void {
  if (to.gone) return;
  if (to.frozen) world.events.after(20 + world.random.below(60), () => arrive(world, to, message));
  else {
    // Before it says how far its server is, or acts on a handover, an agent looks.
    if (message.kind === "ask-standing" || message.kind === "release") to.agent.tick(world, to);
    to.agent.feed(world, to, { kind: "message", message });
  }
}

function probe(world: World, from: Node, name: string): void {
  const to = world.named(name);
  if (to === undefined) return;
  world.events.after(1 + world.random.below(3), () => {
    if (from.frozen || from.gone || !to.serverRuns || !world.network.connects("bus", from.index, to.index)) return;
    from.agent.feed(world, from, { kind: "answered", node: name });
  });
}
