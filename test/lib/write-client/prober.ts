/**
 * The front end that measures: it reacts to a redirection, a refusal or a closed socket within milliseconds and takes
 * news of the topology from any node, so that a gap it sees is the deployment's and not the client library's.
 */

import { type Reply, ReplyError } from "../../../pkg/valkey/resp.ts";
import { type Address, Connection, ConnectionLost } from "../resp/connection.ts";
import { type Attempt, count, type FrontEnd, failure, type Lane, type Target } from "./front-end.ts";
import { Scout } from "./scout.ts";
import { slotOf } from "./slots.ts";
import { addressText, parseAddress, sameAddress, Topology } from "./topology.ts";

/** An owner that is silent this long is suspected, and everybody is asked whether it still is the owner. */
const SUSPECT_MS = 50;
/** How often somebody who waits for an owner looks whether it has been replaced. */
const LOOK_MS = 10;
/** A silent owner that nobody else contradicts is given up after this. */
const GIVE_UP_MS = 1000;
const RETRY_MS = 5;
/** The kind of an attempt that was left because the topology changed under it: a redirection that nobody sent. */
const REPLACED = "replaced";

export class Prober implements FrontEnd {
  readonly name = "prober";
  readonly events = new Map<string, number>();
  readonly topology = new Topology();
  readonly scout: Scout;
  readonly target: Target;
  readonly #lanes: ProberLane[] = [];

  static async connect(target: Target): Promise<Prober> {
    const prober = new Prober(target);
    try {
      await prober.scout.survey();
      return prober;
    } catch (error) {
      prober.close();
      throw error;
    }
  }

  private constructor(target: Target) {
    this.target = target;
    this.scout = new Scout(this.topology, target);
    for (const address of target.addresses) this.topology.know(address);
  }

  async lane(): Promise<Lane> {
    const lane = new ProberLane(this);
    this.#lanes.push(lane);
    return lane;
  }

  async hint(): Promise<void> {
    await Promise.race([this.topology.changed, Bun.sleep(RETRY_MS)]);
  }

  close(): void {
    this.scout.close();
    for (const lane of this.#lanes) lane.close();
  }
}

class ProberLane implements Lane {
  readonly #prober: Prober;
  readonly #connections = new Map<string, Promise<Connection>>();

  constructor(prober: Prober) {
    this.#prober = prober;
  }

  async set(key: string, value: string): Promise<Attempt<void>> {
    const attempt = await this.#attempt(slotOf(key), ["SET", key, value]);
    if (!attempt.done) return attempt;
    return attempt.value === "OK"
      ? { done: true, value: undefined }
      : failure(`answer ${JSON.stringify(attempt.value)}`);
  }

  async get(key: string): Promise<Attempt<string | null>> {
    const attempt = await this.#attempt(slotOf(key), ["GET", key]);
    if (!attempt.done) return attempt;
    const { value } = attempt;
    return value === null || typeof value === "string" ? { done: true, value } : failure("answer of another type");
  }

  close(): void {
    for (const connection of this.#connections.values()) {
      connection.then((made) => made.close()).catch(() => "it never was open");
    }
  }

  async #attempt(slot: number, command: string[]): Promise<Attempt<Reply>> {
    const { topology, scout } = this.#prober;
    const owner = topology.owner(slot);
    if (owner === undefined) {
      scout.poke();
      return failure("no-owner");
    }
    try {
      const reply = await this.#patiently({ slot, owner }, command);
      return reply instanceof ReplyError
        ? await this.#refused(reply, { slot, owner }, command)
        : { done: true, value: reply };
    } catch (error) {
      return this.#lost(error, { slot, owner });
    }
  }

  /** Waits for connection and answer, but not for an owner that others say is none any more. */
  async #patiently(place: Place, command: string[]): Promise<Reply> {
    const { promise: impatience, reject } = Promise.withResolvers<never>();
    const lookOut = setInterval(() => this.#lookOut(place, reject), LOOK_MS);
    const suspicion = setInterval(() => this.#prober.scout.poke(), SUSPECT_MS);
    const giveUp = setTimeout(() => reject(new ConnectionLost("timeout", "no answer")), GIVE_UP_MS);
    try {
      const answer = this.#connection(place.owner).then((connection) => connection.send(...command));
      return await Promise.race([answer, impatience]);
    } finally {
      clearInterval(lookOut);
      clearInterval(suspicion);
      clearTimeout(giveUp);
    }
  }

  #lookOut({ slot, owner }: Place, abandon: (reason: ConnectionLost) => void): void {
    const now = this.#prober.topology.owner(slot);
    if (now !== undefined && !sameAddress(now, owner))
      abandon(new ConnectionLost(REPLACED, "another node owns the slot"));
  }

  async #refused(error: ReplyError, place: Place, command: string[]): Promise<Attempt<Reply>> {
    const { topology, scout } = this.#prober;
    scout.poke();
    const other = parseAddress(error.message.split(" ")[2] ?? "", place.owner.host);
    if (error.code === "MOVED" && other !== undefined) {
      topology.moved(place.slot, other);
      return failure("MOVED", true);
    }
    if (error.code === "ASK" && other !== undefined) return this.#ask(other, command);
    if (error.code === "READONLY") {
      topology.doubt(place.slot, place.owner);
      scout.reconnect(place.owner);
      this.#drop(place.owner);
    }
    return failure(error.code);
  }

  /** The slot is on the move: this one key is at the other node, the rest of the slot may still be here. */
  async #ask(other: Address, command: string[]): Promise<Attempt<Reply>> {
    count(this.#prober.events, "ASK");
    const connection = await this.#connection(other);
    const [, reply] = await Promise.all([connection.send("ASKING"), connection.send(...command)]);
    return reply instanceof ReplyError ? failure(`ASK ${reply.code}`) : { done: true, value: reply };
  }

  #lost(error: unknown, { slot, owner }: Place): Attempt<Reply> {
    this.#drop(owner);
    this.#prober.topology.doubt(slot, owner);
    this.#prober.scout.poke();
    if (error instanceof ConnectionLost) return failure(error.kind, error.kind === REPLACED);
    if (error instanceof ReplyError) return failure(error.code);
    throw error;
  }

  #connection(address: Address): Promise<Connection> {
    const name = addressText(address);
    const kept = this.#connections.get(name);
    if (kept !== undefined) return kept;
    const { hosts, tls, username, password } = this.#prober.target;
    const made = Connection.open({ at: address, hosts, tls, username, password, timeoutMs: GIVE_UP_MS });
    this.#connections.set(name, made);
    return made;
  }

  #drop(address: Address): void {
    const name = addressText(address);
    this.#connections
      .get(name)
      ?.then((connection) => connection.close())
      .catch(() => "it never was open");
    this.#connections.delete(name);
  }
}

interface Place {
  readonly slot: number;
  readonly owner: Address;
}
