/** Agents of a small deployment for tests: one shard of three, all voters, whose messages are carried by hand. */
import { type AgentState, bornAgent, type Input, step } from "./agent-core.ts";
import type { Deployment, Output, ServerSight } from "./context.ts";
import type { Message } from "./message.ts";
import { RULES, type Rules } from "./rules.ts";
import { chooseVoters } from "./voters.ts";

export const MEMBERS = [0, 1, 2].map((member) => ({ node: `a-0-${member}`, shard: 0, member }));
export const DEPLOYMENT: Deployment = { shards: 1, members: MEMBERS, voters: chooseVoters(MEMBERS) };

export const PRIMARY: ServerSight = {
  phase: "running",
  suspended: false,
  run: "a-0-0@1",
  role: "primary",
  fenced: true,
  hasData: true,
  dataEpoch: 1,
  offset: 100,
  wasPrimary: true,
  linkUp: false,
  tableEpoch: 1,
  owners: ["a-0-0"],
  replicas: [],
};

export function replicaSight(member: number, change: Partial<ServerSight> = {}): ServerSight {
  return { ...PRIMARY, run: `a-0-${member}@1`, role: "replica", wasPrimary: false, linkUp: true, ...change };
}

/** Three agents that know of a lease of member 0 in epoch 1. */
export class Trio {
  readonly states: AgentState[];
  readonly done: (Output & { by: string })[] = [];
  /** What agents have said to each other. */
  readonly said: Message[] = [];
  readonly cut = new Set<string>();
  now = 10_000;
  readonly #rules: Rules;

  constructor(rules: Rules = RULES, leaseUntil = 0) {
    this.#rules = rules;
    const memory = { epoch: 1, inSync: { version: 1, members: [] } };
    const persisted = {
      leaseUntil,
      electionUntil: undefined,
      shards: [{ memory, holder: "a-0-0", promise: false, grantEpoch: 1 }],
    };
    this.states = MEMBERS.map((place, index) => {
      const server = index === 0 ? PRIMARY : replicaSight(index);
      return bornAgent({
        self: { ...place, boot: `${place.node}#1` },
        deployment: DEPLOYMENT,
        server,
        now: this.now,
        persisted,
      });
    });
  }

  /** A new pod in the place of one: its agent remembers nothing. */
  replace(index: number, server: ServerSight): void {
    const before = this.states[index];
    if (before === undefined) throw new RangeError(`no agent ${index}`);
    const self = { ...before.self, boot: `${before.self.boot}+` };
    this.states[index] = bornAgent({ self, deployment: DEPLOYMENT, server, now: this.now, persisted: undefined });
  }

  /** Gives one agent an input and carries all messages that follow from it, at once. */
  feed(index: number, input: Input): void {
    const state = this.states[index];
    if (state === undefined) throw new RangeError(`no agent ${index}`);
    const [after, outputs] = step(state, input, this.#rules, this.now);
    this.states[index] = after;
    for (const output of outputs) this.#carry(state.self.node, output);
  }

  #carry(by: string, output: Output): void {
    if (output.do !== "send") {
      this.done.push({ ...output, by });
      return;
    }
    const { message } = output;
    this.said.push(message);
    if (this.cut.has(by) || this.cut.has(message.to)) return;
    const to = this.states.findIndex(({ self }) => self.node === message.to);
    this.feed(to, { kind: "message", message });
  }

  tick(index: number, server: ServerSight): void {
    this.feed(index, { kind: "tick", server });
  }

  /** Who has done this; commands are repeated until the server shows that it obeyed. */
  did(what: Output["do"]): readonly string[] {
    return [...new Set(this.done.filter((output) => output.do === what).map(({ by }) => by))];
  }
}
