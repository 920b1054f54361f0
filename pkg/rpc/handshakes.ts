/** Connections whose handshake is not done: few of them, and the failed ones told by their reason. */
import type { Socket } from "node:net";
import { type Refusals, tlsRefusal } from "./refusals.ts";

export class Handshakes {
  /** In the order of their beginning. */
  readonly #open = new Set<Socket>();
  /** By ourselves: told already. */
  readonly #cutOff = new WeakSet<Socket>();
  readonly #limit: number;
  readonly #refusals: Refusals;

  constructor(limit: number, refusals: Refusals) {
    this.#limit = limit;
    this.#refusals = refusals;
  }

  get size(): number {
    return this.#open.size;
  }

  begun(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    if (this.#open.size <= this.#limit) return;
    // An honest handshake takes milliseconds: the oldest is the least honest.
    const [oldest] = this.#open;
    if (oldest === undefined) return;
    this.#open.delete(oldest);
    this.#cutOff.add(oldest);
    this.#refusals.add("too-many-handshakes", { remote: remoteOf(oldest) });
    oldest.destroy();
  }

  done(socket: Socket): void {
    this.#open.delete(socket);
  }

  failed(error: Error, socket: Socket): void {
    this.#open.delete(socket);
    if (this.#cutOff.has(socket)) return;
    const { reason, code } = tlsRefusal(error);
    this.#refusals.add(reason, { why: code, remote: remoteOf(socket) });
  }

  destroyAll(): void {
    for (const socket of this.#open) socket.destroy();
  }
}

function remoteOf(socket: Socket): string {
  return `${socket.remoteAddress ?? "?"}:${socket.remotePort ?? "?"}`;
}
