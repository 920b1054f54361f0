/**
 * What the lease has done to its server, over a connection of its own: nothing that takes long stands in its way. A
 * command is confirmed by its answer; what is not confirmed is decided upon again, from what the next look shows.
 */
import type { Promotion } from "../../plan/lease/context.ts";
import type { ValkeyClient } from "../../valkey/client.ts";
import { refusal } from "../../valkey/connection.ts";
import { ReplyError } from "../../valkey/resp.ts";
import { FENCE, ruleLines, type WriteRule } from "../write-rule.ts";

const DEADLINE_MS = 700;

export class LeaseCommands {
  readonly #client: ValkeyClient;

  constructor(client: ValkeyClient) {
    this.#client = client;
  }

  /** From its answer on the server refuses writes, until it is told otherwise. */
  async fence(): Promise<void> {
    await this.#all([setRule(FENCE)]);
  }

  /**
   * From its answer on writes wait, for so long. It cannot be done together with a fence: a server that refuses writes
   * does not let them wait first.
   */
  async hold(ms: number): Promise<void> {
    await this.#all([["CLIENT", "PAUSE", String(ms), "WRITE"]]);
  }

  async unfence(rule: WriteRule): Promise<void> {
    await this.#all([setRule(rule), ["CLIENT", "UNPAUSE"]]);
  }

  /** A server that leads nobody is fenced, and clients that wait at it go on: they are sent to the one that leads. */
  async settle(): Promise<void> {
    await this.#all([setRule(FENCE), ["CLIENT", "UNPAUSE"]]);
  }

  /** Who comes to write to the new primary before its lease does waits for it, instead of being refused. */
  async promote(how: Promotion, rule: WriteRule, holdMs: number): Promise<void> {
    const command = how === "RAISE" ? ["CLUSTER", "BUMPEPOCH"] : ["CLUSTER", "FAILOVER", how];
    await this.#all([["CLIENT", "PAUSE", String(holdMs), "WRITE"], setRule(rule), command]);
  }

  close(): void {
    this.#client.close();
  }

  async #all(commands: readonly (readonly string[])[]): Promise<void> {
    const replies = await this.#client.pipeline(commands, { deadlineMs: DEADLINE_MS });
    const index = replies.findIndex((reply) => reply instanceof ReplyError);
    const reply = replies[index];
    if (reply instanceof ReplyError) throw refusal((commands[index] ?? []).slice(0, 2).join(" "), reply);
  }
}

function setRule(rule: WriteRule): readonly string[] {
  return ["CONFIG", "SET", ...ruleLines(rule).flat()];
}
