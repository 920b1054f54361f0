/**
 * What the pod's own containers may ask the agent, in Valkey's protocol over a unix socket: the preStop hook of the server
 * is `valkey-cli -s agent.sock HANDOVER`, which works in an image without a shell and blocks until it is answered.
 */
import { rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import type { Logger } from "../../log/log.ts";
import { type Reply, ReplyParser } from "../../valkey/resp.ts";

export interface HandoverServerOptions {
  readonly path: string;
  readonly log: Logger;
  /** Gives the answer: what came of it, for whoever reads the pod's events. */
  readonly handover: () => Promise<string>;
}

/** No command that is spoken here is longer. */
const LONGEST_COMMAND = 4096;

export class HandoverServer {
  readonly #options: HandoverServerOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(options: HandoverServerOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async listen(options: HandoverServerOptions): Promise<HandoverServer> {
    // What an agent that was killed left behind.
    rmSync(options.path, { force: true });
    const handover = new HandoverServer(options);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    handover.#server.once("error", reject);
    handover.#server.listen(options.path, resolve);
    await promise;
    return handover;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: Socket): void {
    const parser = new ReplyParser();
    let received = 0;
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    // One after the other: answers have to come in the order of the questions.
    let answering = Promise.resolve();
    socket.on("data", (piece: Buffer) => {
      received += piece.length;
      if (received > LONGEST_COMMAND) return socket.destroy();
      const commands = parse(parser, piece);
      if (commands === undefined) return socket.destroy();
      if (commands.length > 0) received = 0;
      for (const command of commands) {
        answering = answering.then(async () => {
          const answer = await this.#answer(command);
          if (!socket.destroyed) socket.write(answer);
        });
      }
      return socket;
    });
  }

  /** Never throws: what fails is an answer too. */
  async #answer(command: Reply): Promise<string> {
    const [name = ""] = Array.isArray(command) ? command.map(String) : [];
    switch (name.toUpperCase()) {
      case "PING":
        return "+PONG\r\n";
      case "HANDOVER":
        return this.#handover();
      case "QUIT":
        return "+OK\r\n";
      // valkey-cli asks for these by itself; an empty answer makes it go on with what it was told.
      case "COMMAND":
        return "*0\r\n";
      default:
        return "-ERR the agent knows PING and HANDOVER\r\n";
    }
  }

  async #handover(): Promise<string> {
    const { handover, log } = this.#options;
    try {
      return `+${(await handover()).replaceAll(/[\r\n]+/g, " ")}\r\n`;
    } catch (error) {
      log.error({ err: error }, "handover failed");
      return "-ERR the handover failed, see the log of the agent\r\n";
    }
  }
}

/** Undefined when it is not Valkey's protocol. */
function parse(parser: ReplyParser, piece: Buffer): readonly Reply[] | undefined {
  try {
    return parser.push(piece);
  } catch {
    return undefined;
  }
}
