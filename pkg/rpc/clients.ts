/**
 * Calls of other programs: one connection per target, kept while it is used, under the identity of the moment. Every call
 * has a deadline; every server must be whom we mean.
 */
import { lookup as systemLookup } from "node:dns";
import { isIPv6, type LookupFunction } from "node:net";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { type Clock, systemClock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";
import { formatSpiffeId, type NodeIdentity, type OperatorIdentity } from "../pki/pki.ts";
import { PROTOCOL } from "../version/version.ts";
import { explained, isAnswer } from "./client-errors.ts";
import { ClientPool, type Target } from "./client-pool.ts";
import { FENCING_HEADER } from "./fencing.ts";
import { AgentService } from "./gen/valkey/agent/v1/agent_pb.ts";
import { PeerService } from "./gen/valkey/agent/v1/peer_pb.ts";
import { OperatorService } from "./gen/valkey/operator/v1/operator_pb.ts";
import type { IdentitySource } from "./identity.ts";
import { PeerAsker } from "./peer-asker.ts";
import { PEER_STREAM_PATH } from "./peer-streams.ts";
import { formatRange, PROTOCOL_HEADER, type ProtocolRange } from "./protocol.ts";
import type { RpcMetrics } from "./rpc-metrics.ts";
import { METHOD_RULES, methodName } from "./rules.ts";

export interface RpcTarget {
  /** An address or a name. */
  readonly host: string;
  readonly port: number;
}

export interface RpcClientsOptions {
  readonly identity: IdentitySource;
  readonly metrics: RpcMetrics;
  readonly log: Logger;
  /** The term of our leadership; undefined while we do not lead. Without it no commands can be sent. */
  readonly fencingToken?: () => number | undefined;
  /** Of calls that name no deadline of their own. Defaults to 5 s. */
  readonly timeoutMs?: number;
  /** A target that is not called for so long is closed and forgotten. Defaults to 1 minute. */
  readonly idleMs?: number;
  /** Of one message. Defaults to 4 MiB. */
  readonly messageLimit?: number;
  /** Defaults to what this release speaks. */
  readonly protocol?: ProtocolRange;
  /** Defaults to the system's. */
  readonly lookup?: LookupFunction;
  readonly clock?: Clock;
}

/** What of a call matters here. */
interface Outgoing {
  readonly method: DescMethod;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
}

const MIB = 1024 * 1024;

export class RpcClients {
  readonly #options: RpcClientsOptions;
  readonly #pool: ClientPool;
  readonly #askers = new Set<PeerAsker>();
  readonly #timeoutMs: number;

  constructor(options: RpcClientsOptions) {
    const { identity, metrics, log, clock = systemClock } = options;
    const { idleMs = 60_000, messageLimit = 4 * MIB, lookup = systemLookup, timeoutMs = 5000 } = options;
    this.#options = options;
    this.#timeoutMs = timeoutMs;
    const calls = {
      interceptors: [this.#headers()],
      defaultTimeoutMs: timeoutMs,
      readMaxBytes: messageLimit,
      writeMaxBytes: messageLimit,
      acceptCompression: [],
    };
    const onRenewed = () => {
      for (const asker of this.#askers) asker.refresh();
    };
    this.#pool = new ClientPool({ identity, metrics, log, clock, idleMs, lookup, calls, onRenewed });
  }

  agent(target: RpcTarget, expected: NodeIdentity): Client<typeof AgentService> {
    return this.#client(AgentService, { http: "2", url: urlOf(target), expected });
  }

  peer(target: RpcTarget, expected: NodeIdentity): Client<typeof PeerService> {
    return this.#client(PeerService, { http: "2", url: urlOf(target), expected });
  }

  /** To be kept by whoever asks often: it holds a stream while it is used. */
  asker(target: RpcTarget, expected: NodeIdentity): PeerAsker {
    const { protocol = PROTOCOL, clock = systemClock, messageLimit = 4 * MIB } = this.#options;
    const to: Target = { http: "2", url: urlOf(target), expected };
    const headers = { [PROTOCOL_HEADER]: formatRange(protocol) };
    const asker: PeerAsker = new PeerAsker({
      clock,
      messageLimit,
      open: () => this.#pool.stream(to, PEER_STREAM_PATH, headers),
      lost: () => this.#pool.giveUp(to),
      closed: () => this.#askers.delete(asker),
    });
    this.#askers.add(asker);
    return asker;
  }

  /** `url`: https, without a path. */
  operator(url: string, expected: OperatorIdentity): Client<typeof OperatorService> {
    return this.#client(OperatorService, { http: "1.1", url: new URL(url).origin, expected });
  }

  /** How many targets are connected or were lately. */
  get size(): number {
    return this.#pool.size;
  }

  /** Calls under way fail. */
  close(): void {
    this.#pool.close();
  }

  /** Such a client holds no connection, so it may be kept for as long as one likes. */
  #client<S extends DescService>(service: S, target: Target): Client<S> {
    const transport: Transport = {
      unary: (...call) => {
        const [method, signal, timeoutMs] = call;
        return this.#call(target, { method, signal, timeoutMs }, (line) => line.unary(...call));
      },
      stream: async () => {
        throw new ConnectError("our contracts have no streams", Code.Unimplemented);
      },
    };
    return createClient(service, transport);
  }

  async #call<T>(target: Target, call: Outgoing, send: (line: Transport) => Promise<T>): Promise<T> {
    const { metrics } = this.#options;
    const { signal, timeoutMs = this.#timeoutMs } = call;
    const method = methodName(call.method);
    const about = { url: target.url, expected: formatSpiffeId(target.expected), timeoutMs, signal };
    const lost = (error: unknown) => error instanceof ConnectError && !isAnswer(error) && signal?.aborted !== true;
    try {
      this.#check(call.method, timeoutMs);
      const answer = await this.#pool.use(
        target,
        (line) =>
          send(line.transport).catch((error: unknown) => {
            throw explained(error, { ...about, stranger: line.stranger });
          }),
        lost,
      );
      metrics.called.inc({ method, code: "ok" });
      return answer;
    } catch (error) {
      metrics.called.inc({ method, code: Code[ConnectError.from(error).code] });
      throw error;
    }
  }

  #check(method: DescMethod, timeoutMs: number): void {
    if (timeoutMs <= 0) throw new ConnectError("a call without a deadline could hang for ever", Code.InvalidArgument);
    const command = METHOD_RULES.get(methodName(method))?.command === true;
    if (command && this.#options.fencingToken?.() === undefined) {
      throw new ConnectError(`${method.name} is a command, and this replica does not lead`, Code.FailedPrecondition);
    }
  }

  /** Names the protocol and, if we lead, the term. */
  #headers(): Interceptor {
    const { protocol = PROTOCOL, fencingToken } = this.#options;
    return (next) => async (request) => {
      request.header.set(PROTOCOL_HEADER, formatRange(protocol));
      const token = fencingToken?.();
      if (token !== undefined) request.header.set(FENCING_HEADER, String(token));
      return next(request);
    };
  }
}

function urlOf({ host, port }: RpcTarget): string {
  return `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
