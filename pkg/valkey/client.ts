/**
 * A server that is talked to for as long as it lives: the connection is made when it is first needed and made anew after
 * it ended, by the next call and not before. A call that was under way when it ended fails.
 */
import {
  addressText,
  type CallOptions,
  type Login,
  type ServerAddress,
  unlessAborted,
  ValkeyConnection,
} from "./connection.ts";
import { type Reply, ReplyError } from "./resp.ts";
import { isValkeyError } from "./valkey-error.ts";

export interface ClientOptions {
  readonly at: ServerAddress;
  /** Tried first; a server that has no such user is used as whoever needs no login, if it lets one in. */
  readonly login?: Login | undefined;
}

export class ValkeyClient {
  readonly #options: ClientOptions;
  #opening: Promise<ValkeyConnection> | undefined;
  #connection: ValkeyConnection | undefined;
  #shut = false;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async call(args: readonly string[], options: CallOptions = {}): Promise<Reply> {
    return (await this.connection(options.signal)).call(args, options);
  }

  async pipeline(commands: readonly (readonly string[])[], options: CallOptions = {}): Promise<readonly Reply[]> {
    return (await this.connection(options.signal)).pipeline(commands, options);
  }

  /** The connection in use, for whoever waits for its end. Several who need a new one share it. */
  async connection(signal?: AbortSignal): Promise<ValkeyConnection> {
    if (this.#connection?.open === true) return this.#connection;
    this.#opening ??= this.#open();
    return unlessAborted(`connect to ${addressText(this.#options.at)}`, this.#opening, signal);
  }

  close(): void {
    this.#shut = true;
    this.#connection?.close();
  }

  async #open(): Promise<ValkeyConnection> {
    try {
      const connection = await this.#dial();
      if (this.#shut) connection.close();
      this.#connection = connection;
      return connection;
    } finally {
      this.#opening = undefined;
    }
  }

  async #dial(): Promise<ValkeyConnection> {
    const { at, login } = this.#options;
    if (login === undefined) return ValkeyConnection.open({ at });
    try {
      return await ValkeyConnection.open({ at, login });
    } catch (error) {
      if (!isValkeyError(error, "auth")) throw error;
      const connection = await ValkeyConnection.open({ at });
      const [reply] = await connection.pipeline([["ACL", "WHOAMI"]]);
      if (!(reply instanceof ReplyError)) return connection;
      connection.close();
      throw error;
    }
  }
}
