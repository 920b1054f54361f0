/**
 * What stands before every handler: who calls, whether he may, in which protocol, and for a command in whose term. It is
 * asked before any of the message is read.
 */

import type { IncomingHttpHeaders } from "node:http2";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type { Clock } from "../clock/clock.ts";
import { formatSpiffeId, type NodeIdentity, type SpiffeId } from "../pki/pki.ts";
import type { Connection, Trust } from "./connection.ts";
import { FENCING_HEADER, type FencingStore, parseToken } from "./fencing.ts";
import { negotiate, PROTOCOL_HEADER, type ProtocolRange } from "./protocol.ts";
import type { RefusalReason, Refusals } from "./refusals.ts";
import { type Belonging, judgeCaller, type MethodRule, type MethodRules, methodName } from "./rules.ts";

/** Names the reason of a refusal to programs. */
export const REFUSAL_HEADER = "valkey-refusal";

export interface GateOptions {
  readonly rules: MethodRules;
  readonly own: Belonging;
  readonly fencing: FencingStore | undefined;
  readonly protocol: ProtocolRange;
  readonly refusals: Refusals;
  readonly clock: Clock;
  /** As of now. */
  readonly trust: () => Trust;
}

/** A call as the server knows it before it is let in. */
export interface Call {
  readonly connection: Connection | undefined;
  /** Refused by the gate: counted already. */
  refused: boolean;
  /** Its handler was reached. */
  handled: boolean;
}

const CALL = createContextKey<Call>({ connection: undefined, refused: false, handled: false });
const CALLER = createContextKey<SpiffeId | undefined>(undefined);
const TOKEN = createContextKey<number | undefined>(undefined);
const VERSION = createContextKey(0);

/** Who calls, as its certificate says. */
export function callerIn(context: Pick<HandlerContext, "values">): SpiffeId {
  const caller = context.values.get(CALLER);
  if (caller === undefined) throw new ConnectError("the call passed no gate", Code.Internal);
  return caller;
}

/** The node that calls; for methods that only nodes may call. */
export function nodeIn(context: Pick<HandlerContext, "values">): NodeIdentity {
  const caller = callerIn(context);
  if (caller.role === "node") return caller;
  throw new ConnectError(`only nodes may call this, not ${formatSpiffeId(caller)}`, Code.PermissionDenied);
}

/** Of a command: the term it was given in. */
export function fencingTokenIn(context: Pick<HandlerContext, "values">): number | undefined {
  return context.values.get(TOKEN);
}

/** The protocol version that the answer must be in. */
export function protocolIn(context: Pick<HandlerContext, "values">): number {
  return context.values.get(VERSION);
}

export function contextOf(call: Call): ContextValues {
  return createContextValues().set(CALL, call);
}

export function callIn(values: ContextValues): Call {
  return values.get(CALL);
}

export class Gate {
  readonly #options: GateOptions;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** Throws what the caller is told. */
  async admit(context: HandlerContext): Promise<void> {
    const caller = await this.#identified(context);
    const rule = this.#allowed(context, caller);
    const negotiation = negotiate(context.requestHeader.get(PROTOCOL_HEADER), this.#options.protocol);
    if (!negotiation.ok) {
      throw this.#refusal(context, { reason: "unspoken-protocol", code: Code.FailedPrecondition }, negotiation.reason);
    }
    context.values.set(VERSION, negotiation.version);
    context.responseHeader.set(PROTOCOL_HEADER, String(negotiation.version));
    if (rule.command) await this.#fence(context);
    context.values.set(CALLER, caller);
  }

  /** For a stream of a node of the same deployment; throws what the caller is told. */
  async admitPeer(connection: Connection, headers: IncomingHttpHeaders): Promise<NodeIdentity> {
    const { own, protocol, refusals } = this.#options;
    const refuse = (reason: RefusalReason, why: string, code: Code): ConnectError => {
      const caller = connection.peer.ok ? formatSpiffeId(connection.peer.id) : "unknown";
      refusals.add(reason, { why, method: "PeerStream", caller, remote: connection.remote });
      return new ConnectError(why, code, { [REFUSAL_HEADER]: reason });
    };
    const caller = await this.admitConnection(connection);
    const verdict = judgeCaller({ callers: "same-deployment", command: false }, caller, own);
    if (!verdict.ok) throw refuse(verdict.reason, verdict.message, Code.PermissionDenied);
    const spoken = headers[PROTOCOL_HEADER];
    const negotiation = negotiate(typeof spoken === "string" ? spoken : null, protocol);
    if (!negotiation.ok) throw refuse("unspoken-protocol", negotiation.reason, Code.FailedPrecondition);
    if (caller.role !== "node") throw refuse("role-not-allowed", "only nodes have peers", Code.PermissionDenied);
    return caller;
  }

  /** Whether it is known, without another look at its certificate, that it is still good and trusted. */
  isAdmitted(connection: Connection): boolean {
    const { trust, clock } = this.#options;
    return connection.isGood(trust(), clock.wall());
  }

  /** Whether its certificate is still good and trusted. */
  async admitConnection(connection: Connection): Promise<SpiffeId> {
    const { trust, clock, refusals } = this.#options;
    const standing = await connection.standing(trust(), clock.wall());
    if (standing.ok && connection.peer.ok) return connection.peer.id;
    const [reason, why] = standing.ok
      ? (["no-identity", "the caller has no identity"] as const)
      : ([standing.reason, standing.message] as const);
    connection.close();
    refusals.add(reason, { why, method: "PeerStream", caller: "unknown", remote: connection.remote });
    throw new ConnectError(why, Code.Unauthenticated, { [REFUSAL_HEADER]: reason });
  }

  async #identified(context: HandlerContext): Promise<SpiffeId> {
    const { connection } = context.values.get(CALL);
    const code = Code.Unauthenticated;
    if (connection === undefined || !connection.peer.ok) {
      const why = connection?.peer.ok === false ? connection.peer.reason : "the connection is gone or has no TLS";
      throw this.#refusal(context, { reason: "no-identity", code }, why);
    }
    const standing = await connection.standing(this.#options.trust(), this.#options.clock.wall());
    if (!standing.ok) {
      connection.close();
      throw this.#refusal(context, { reason: standing.reason, code }, standing.message);
    }
    return connection.peer.id;
  }

  #allowed(context: HandlerContext, caller: SpiffeId): MethodRule {
    const code = Code.PermissionDenied;
    const rule = this.#options.rules.get(methodName(context.method));
    if (rule === undefined) {
      throw this.#refusal(context, { reason: "role-not-allowed", code }, "nobody may call this: it has no rule");
    }
    const verdict = judgeCaller(rule, caller, this.#options.own);
    if (!verdict.ok) throw this.#refusal(context, { reason: verdict.reason, code }, verdict.message);
    return rule;
  }

  async #fence(context: HandlerContext): Promise<void> {
    const { fencing } = this.#options;
    const code = Code.FailedPrecondition;
    const text = context.requestHeader.get(FENCING_HEADER) ?? "";
    const token = parseToken(text);
    if (token === undefined || fencing === undefined) {
      const what = text === "" ? "no header" : "no number in the header";
      const why = `a command needs the term of the operator's leadership, and the call has ${what} ${FENCING_HEADER}`;
      throw this.#refusal(context, { reason: "no-fencing-token", code }, why);
    }
    const refuseLower = () => {
      const highest = fencing.highest();
      if (token >= highest) return;
      const why = `the command is of term ${token}, and term ${highest} commands here: its sender no longer leads`;
      throw this.#refusal(context, { reason: "lower-fencing-token", code }, why);
    };
    refuseLower();
    await fencing.raise(token);
    // A higher one may have come while it was written.
    refuseLower();
    context.values.set(TOKEN, token);
  }

  #refusal(
    context: HandlerContext,
    { reason, code }: { readonly reason: RefusalReason; readonly code: Code },
    message: string,
  ): ConnectError {
    const call = context.values.get(CALL);
    call.refused = true;
    const peer = call.connection?.peer;
    this.#options.refusals.add(reason, {
      why: message,
      method: methodName(context.method),
      caller: peer?.ok === true ? formatSpiffeId(peer.id) : "unknown",
      remote: call.connection?.remote ?? "unknown",
    });
    return new ConnectError(message, code, { [REFUSAL_HEADER]: reason });
  }
}
