/** Steps to agents, as the calls that they are. */

import { sightingsText } from "../../plan/formation/push.ts";
import type { ConfigureStep, FormationStep } from "../../plan/formation/step.ts";
import type { StopStep } from "../../plan/lifecycle/stop.ts";
import { PORTS } from "../../plan/objects/names.ts";
import type { Desired } from "../../plan/objects/types.ts";
import type { HandoverStep } from "../../plan/rollout/step.ts";
import type { AgentSight, Command } from "../agents/agent-hub.ts";
import { type HandedOver, handoverCommand } from "./handover-command.ts";

export type AgentStep = FormationStep | StopStep | HandoverStep;

export interface CommandContext {
  readonly desired: Desired;
  /** Of a node's pod, as last seen. */
  readonly ipOf: (node: string) => string | undefined;
  /** What its agent was given before. */
  readonly sight: AgentSight;
  /** Told what came of a handover. */
  readonly handedOver: HandedOver;
}

/** Nobody waits for it: a stuck agent holds up itself alone. */
const SHORT_MS = 10_000;
/** The agent answers when it is done, and asks its peers before. */
const PROMOTE_MS = 15_000;
/** Saving may take long. */
const STOP_MS = 120_000;

export function commandOf(step: AgentStep, context: CommandContext): Command {
  switch (step.do) {
    case "configure":
      return configure(step, context);
    case "own": {
      const { nodeId, slots, configEpoch } = step;
      const request = { nodeId, slots: [...slots], configEpoch: BigInt(configEpoch) };
      return { step: "own", timeoutMs: SHORT_MS, send: (agent, limits) => agent.own(request, limits) };
    }
    case "meet":
      return {
        step: "meet",
        timeoutMs: SHORT_MS,
        meets: step.peers,
        send: (agent, limits) => agent.meet({ peers: peersOf(step.peers, context) }, limits),
      };
    case "follow": {
      const { nodeId, primaryId } = step;
      return {
        step: "follow",
        timeoutMs: SHORT_MS,
        send: (agent, limits) => agent.follow({ nodeId, primaryId }, limits),
      };
    }
    case "promote": {
      const { nodeId, primaryId, withoutVote } = step;
      const request = { nodeId, primaryId, withoutVote };
      return { step: "promote", timeoutMs: PROMOTE_MS, send: (agent, limits) => agent.promote(request, limits) };
    }
    case "forget":
      return {
        step: "forget",
        timeoutMs: SHORT_MS,
        send: (agent, limits) => agent.forget({ nodeIds: [...step.nodeIds] }, limits),
      };
    case "handover":
      return handoverCommand(step, context.handedOver);
    case "stop-server":
      return { step: "stop", timeoutMs: STOP_MS, send: (agent, limits) => agent.stop({ save: step.save }, limits) };
  }
}

function configure(step: ConfigureStep, { desired, sight }: CommandContext): Command {
  const { bootId, sightings } = step;
  const before = sight.pushed?.bootId === bootId ? sight.pushed : NOTHING_GIVEN;
  const configuration = step.configuration ? desired.configuration : undefined;
  const secrets = step.secrets ? desired.secrets : undefined;
  const request = { configuration, secrets, sightings: [...sightings] };
  const given = {
    bootId,
    configurationHash: configuration?.hash ?? before.configurationHash,
    secretsHash: secrets?.hash ?? before.secretsHash,
    sightings: sightingsText(sightings),
  };
  return { step: "configure", timeoutMs: SHORT_MS, given, send: (agent, limits) => agent.configure(request, limits) };
}

const NOTHING_GIVEN = { configurationHash: "", secretsHash: "" };

function peersOf(nodes: readonly string[], { desired, ipOf }: CommandContext) {
  const { port = PORTS.client, busPort = PORTS.bus } = desired.configuration?.wire ?? {};
  return nodes.flatMap((node) => {
    const ip = ipOf(node);
    return ip === undefined ? [] : [{ ip, port, busPort }];
  });
}
