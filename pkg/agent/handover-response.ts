/** What came of a handover, for the operator and for people. Pure. */
import type { HandoverResult as LeaseResult } from "../plan/lease/context.ts";
import { HandoverResult } from "../rpc/gen/valkey/agent/v1/agent_pb.ts";
import type { Handover } from "./lease/handovers.ts";

const RESULTS: Readonly<Record<LeaseResult, HandoverResult>> = {
  "handed-over": HandoverResult.HANDED_OVER,
  "not-primary": HandoverResult.NOT_PRIMARY,
  "no-replica-in-sync": HandoverResult.NO_REPLICA_IN_SYNC,
  "gave-up": HandoverResult.GAVE_UP,
};

export function handoverResponse({ result, writesWaitedMs }: Handover, leader: string, wanted: string) {
  return { result: RESULTS[result], successor: leader, writesWaitedMs, message: words(result, leader, wanted) };
}

function words(result: LeaseResult, leader: string, wanted: string): string {
  switch (result) {
    case "handed-over":
      return `${leader === "" ? "another node" : leader} leads the shard`;
    case "not-primary":
      return "this node is not the primary of its shard: there is nothing to hand over";
    case "no-replica-in-sync":
      return wanted === "" ? "no replica has all the data yet" : `${wanted} does not have all the data yet`;
    case "gave-up":
      return "the replica did not take over in time, and this node leads on";
  }
}

export interface Departure {
  /** Undefined when there was nothing to hand over. */
  readonly reason: "HandedOver" | "NotHandedOver" | undefined;
  readonly message: string;
}

/** Of a pod that goes; without a successor its data is what its server saves in its last moment. */
export function departure({ result, writesWaitedMs }: Handover, leader: string): Departure {
  switch (result) {
    case "handed-over": {
      const to = leader === "" ? "" : ` to ${leader}`;
      return {
        reason: "HandedOver",
        message: `handed over${to} before its pod goes, writes waited ${writesWaitedMs} ms`,
      };
    }
    case "not-primary":
      return { reason: undefined, message: "not the primary of its shard: there is nothing to hand over" };
    case "no-replica-in-sync":
      return alone("no replica has all its data");
    case "gave-up":
      return alone("its replica did not take over in time");
  }
}

function alone(why: string): Departure {
  const message = `its pod goes without a successor: ${why}. It saves what it is set to save, and its shard waits for it`;
  return { reason: "NotHandedOver", message };
}
