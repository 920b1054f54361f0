/** A pod: an agent and a server on a machine with a clock of its own. */
import type { AgentProcess } from "./agent.ts";
import type { Server } from "./server.ts";

export class Node {
  readonly index: number;
  readonly name: string;
  readonly shard: number;
  readonly member: number;
  readonly server: Server;
  readonly agent: AgentProcess;
  /** The pod is not there. */
  gone = false;
  /** The whole machine stands still. */
  frozen = false;
  frozenUntil = 0;
  /** When it last came back from standing still, itself or its server. */
  thawedAt = Number.NEGATIVE_INFINITY;
  /** Its agent died when most others could not see it, nor whether the server went on. */
  agentDiedCutOff = false;
  agentBackAt = Number.NEGATIVE_INFINITY;
  /** Its pod is being deleted, and its server ends once it has handed over. */
  leaving = false;
  backAfterMs = 0;

  constructor(place: { index: number; shards: number; server: Server; agent: AgentProcess }) {
    this.index = place.index;
    this.shard = place.index % place.shards;
    this.member = Math.floor(place.index / place.shards);
    this.name = nodeName(place.index, place.shards);
    this.server = place.server;
    this.agent = place.agent;
  }

  get serverRuns(): boolean {
    return this.server.answers && !this.gone && !this.frozen;
  }
}

export function nodeName(index: number, shards: number): string {
  return `${index % shards}-${Math.floor(index / shards)}`;
}
