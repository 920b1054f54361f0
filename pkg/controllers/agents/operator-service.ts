/** What every replica serves to agents: it listens to heartbeats and reports, and says who leads. */
import type { ConnectRouter } from "@connectrpc/connect";
import type { Service } from "../../kube/manager.ts";
import type { Logger } from "../../log/log.ts";
import { TRUST_DOMAIN } from "../../plan/objects/names.ts";
import { RpcClients } from "../../rpc/clients.ts";
import { nodeIn } from "../../rpc/gate.ts";
import { OperatorService } from "../../rpc/gen/valkey/operator/v1/operator_pb.ts";
import type { IdentitySource } from "../../rpc/identity.ts";
import type { RpcMetrics } from "../../rpc/rpc-metrics.ts";
import { RpcServer } from "../../rpc/server.ts";
import type { AgentHub } from "./agent-hub.ts";

export interface OperatorServiceDeps {
  readonly hub: AgentHub;
  /** Resolves when the operator has an identity; rejects when the signal is aborted. */
  readonly identity: (signal: AbortSignal) => Promise<IdentitySource>;
  /** The operator's own namespace. */
  readonly namespace: string;
  readonly port: number;
  /** Where the leader is reached, as far as this replica knows; empty when it does not. */
  readonly leaderUrl: () => string;
  readonly metrics: RpcMetrics;
  readonly log: Logger;
}

const STOP_MS = 2000;

/** The identity comes from the leader, which may be this replica itself: it is waited for while everything else runs. */
export function operatorService(deps: OperatorServiceDeps): Service {
  return { name: "agents' server", run: (signal) => serve(deps, signal) };
}

async function serve(deps: OperatorServiceDeps, signal: AbortSignal): Promise<void> {
  const { hub, namespace, port, metrics, log } = deps;
  const identity = await deps.identity(signal).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  if (identity === undefined) return;
  const clients = new RpcClients({ identity, metrics, log, fencingToken: () => hub.fencingToken });
  hub.use(clients);
  const server = await RpcServer.listen({
    name: "operator",
    identity,
    routes: operatorRoutes(deps),
    own: { trustDomain: TRUST_DOMAIN, operatorNamespace: namespace },
    metrics,
    log,
    port,
  });
  log.info({ port: server.port }, "agents are listened to");
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await server.stop(AbortSignal.timeout(STOP_MS));
  clients.close();
}

/** Exported for tests. */
export function operatorRoutes({ hub, leaderUrl }: Pick<OperatorServiceDeps, "hub" | "leaderUrl">) {
  return (router: ConnectRouter): void => {
    router.service(OperatorService, {
      heartbeat: (request, context) => {
        const known = hub.heard(nodeIn(context), request);
        // An agent that believes that the leader knows its state sends it again when it finds another leader.
        return { leading: hub.leading && known, leaderUrl: leaderUrl(), configurationHash: "" };
      },
      report: ({ bootId, state, reason, message }, context) => {
        hub.heard(nodeIn(context), { bootId, state, report: { reason, message } });
        return { notLeading: !hub.leading, leaderUrl: leaderUrl() };
      },
    });
  };
}
