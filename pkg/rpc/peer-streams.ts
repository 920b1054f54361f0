/**
 * Streams that agents of one deployment keep open to each other: a question is a frame, and so is its answer. A call for
 * every question would cost a request of its own, and leases ask a dozen of them a second.
 */
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { ConnectError } from "@connectrpc/connect";
import type { Logger } from "../log/log.ts";
import type { NodeIdentity } from "../pki/pki.ts";
import type { Connection } from "./connection.ts";
import { encodeFrame, type Frame, FrameReader } from "./frames.ts";
import type { Gate } from "./gate.ts";

export const PEER_STREAM_PATH = "/valkey.agent.v1.PeerStream";

/** Gives the answer to one question; what it throws ends the stream. */
export type AnswerPeer = (question: Uint8Array, caller: NodeIdentity, signal: AbortSignal) => Promise<Uint8Array>;

export interface PeerStreamsOptions {
  readonly gate: Gate;
  readonly answer: AnswerPeer;
  readonly log: Logger;
  readonly messageLimit: number;
  readonly shutdown: AbortSignal;
}

/** Questions of one peer that are not answered yet: one that asks more does not listen. */
const MOST_WAITING = 64;

export class PeerStreams {
  readonly #options: PeerStreamsOptions;

  constructor(options: PeerStreamsOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async serve(request: Http2ServerRequest, response: Http2ServerResponse, connection: Connection): Promise<void> {
    const { gate, log, shutdown } = this.#options;
    response.on("error", (error) => log.debug({ err: error }, "peer stream failed"));
    request.on("error", (error) => log.debug({ err: error }, "peer stream failed"));
    try {
      const caller = await gate.admitPeer(connection, request.headers);
      response.writeHead(200, { "content-type": "application/octet-stream" });
      const over = new AbortController();
      const end = () => over.abort(new Error("the stream is over"));
      request.on("close", end).on("end", end);
      shutdown.addEventListener("abort", end, { once: true });
      over.signal.addEventListener("abort", () => {
        shutdown.removeEventListener("abort", end);
        response.end();
      });
      this.#listen(request, response, { caller, connection, over });
    } catch (error) {
      response.statusCode = 403;
      response.end(ConnectError.from(error).rawMessage);
    }
  }

  #listen(
    request: Http2ServerRequest,
    response: Http2ServerResponse,
    {
      caller,
      connection,
      over,
    }: { readonly caller: NodeIdentity; readonly connection: Connection; readonly over: AbortController },
  ): void {
    const { gate, log, messageLimit } = this.#options;
    const reader = new FrameReader(messageLimit);
    let waiting = 0;
    const reply = async ({ id, body }: Frame): Promise<void> => {
      waiting += 1;
      try {
        if (waiting > MOST_WAITING) throw new Error("the peer asks more than it lets be answered");
        // Trust may have changed since the stream was opened.
        if (!gate.isAdmitted(connection)) await gate.admitConnection(connection);
        const answer = await this.#options.answer(body, caller, over.signal);
        if (!over.signal.aborted) response.write(encodeFrame({ id, body: answer }));
      } catch (error) {
        log.debug({ err: error, caller: caller.node }, "a question of a peer is not answered");
        over.abort(error);
      } finally {
        waiting -= 1;
      }
    };
    request.on("data", (piece: Buffer) => {
      try {
        for (const frame of reader.push(piece)) void reply(frame);
      } catch (error) {
        over.abort(error);
      }
    });
  }
}
