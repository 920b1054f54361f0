/** What the agent serves: the operator's questions and commands, and the questions of its peers. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { nodeIn } from "../../rpc/gate.ts";
import {
  AgentService,
  type ConfigureRequest,
  type HandoverRequest,
  type HandoverResponseSchema,
  type OwnRequest,
} from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import {
  type AskRequest,
  type AskResponse,
  type GetStandingResponse,
  PeerService,
} from "../../rpc/gen/valkey/agent/v1/peer_pb.ts";
import type { AppliedConfiguration, NodeState } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { ValkeyError } from "../../valkey/valkey-error.ts";
import { PROTOCOL, VERSION } from "../../version/version.ts";
import type { ServerControl } from "../server-control.ts";

/** The agent as its callers see it. */
export interface Served {
  readonly bootId: string;
  readonly control: Pick<ServerControl, "own" | "meet" | "follow" | "forget">;
  state(signal: AbortSignal): Promise<NodeState>;
  standing(askedByBootId: string, signal: AbortSignal): Promise<GetStandingResponse>;
  configure(request: ConfigureRequest, signal: AbortSignal): Promise<AppliedConfiguration | undefined>;
  /** Why no command may be sent to the server now; undefined when it may. */
  whyNoCommands(): string | undefined;
  /** The request as it can be carried out; throws unless its peers prove that this node may take its shard's slots. */
  readyToOwn(request: OwnRequest, signal: AbortSignal): Promise<OwnRequest>;
  /** Agents promote by themselves: resolves when this one has, rejects with the reason why it has not. */
  promoted(signal: AbortSignal): Promise<void>;
  handOver(request: HandoverRequest, signal: AbortSignal): Promise<MessageInitShape<typeof HandoverResponseSchema>>;
  /** A question of another agent about leases. */
  answer(request: AskRequest, caller: string, signal: AbortSignal): Promise<AskResponse>;
  stop(save: boolean, signal: AbortSignal): Promise<void>;
  /** After every command: what it changed is looked at and told. */
  commanded(): void;
}

export function agentRoutes(agent: Served): (router: ConnectRouter) => void {
  const command = async <T>(work: (signal: AbortSignal) => Promise<T>, context: HandlerContext): Promise<object> => {
    const why = agent.whyNoCommands();
    if (why !== undefined) throw new ConnectError(why, Code.FailedPrecondition);
    try {
      await work(context.signal);
      return {};
    } catch (error) {
      throw explained(error);
    } finally {
      agent.commanded();
    }
  };
  return (router) => {
    router.service(AgentService, {
      getInfo: ({ protocolMin, protocolMax }) => ({
        version: VERSION.version,
        commit: VERSION.commit,
        protocol: Math.min(PROTOCOL.max, Math.max(protocolMin, protocolMax, PROTOCOL.min)),
        bootId: agent.bootId,
      }),
      getState: async (_, { signal }) => ({ state: await agent.state(signal) }),
      configure: async (request, { signal }) => {
        const applied = await agent.configure(request, signal);
        return applied === undefined ? {} : { applied };
      },
      own: (request, context) =>
        command(async (signal) => {
          await agent.control.own(await agent.readyToOwn(request, signal), signal);
        }, context),
      meet: (request, context) => command((signal) => agent.control.meet(request, signal), context),
      follow: (request, context) => command((signal) => agent.control.follow(request, signal), context),
      promote: (_, context) => command((signal) => agent.promoted(signal), context),
      handover: (request, { signal }) => agent.handOver(request, signal),
      forget: ({ nodeIds }, context) => command((signal) => agent.control.forget(nodeIds, signal), context),
      stop: async ({ save }, { signal }) => {
        await agent.stop(save, signal).catch((error: unknown) => {
          throw explained(error);
        });
        return {};
      },
    });
    router.service(PeerService, {
      getStanding: ({ bootId }, { signal }) => agent.standing(bootId, signal),
      ask: (request, context) => agent.answer(request, nodeIn(context).node, context.signal),
    });
  };
}

const CODES: Readonly<Record<string, Code>> = {
  refused: Code.FailedPrecondition,
  deadline: Code.DeadlineExceeded,
  aborted: Code.Canceled,
  unsafe: Code.FailedPrecondition,
  "wrong-node": Code.FailedPrecondition,
};

function explained(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  if (!(error instanceof ValkeyError)) return ConnectError.from(error, Code.Internal);
  return new ConnectError(error.message, CODES[error.code] ?? Code.Unavailable, undefined, undefined, error);
}
