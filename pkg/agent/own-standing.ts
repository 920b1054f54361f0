/** What this node tells its peers that it would bring: from its running server, or from its disk. Pure. */
import { create } from "@bufbuild/protobuf";
import { type GetStandingResponse, GetStandingResponseSchema } from "../rpc/gen/valkey/agent/v1/peer_pb.ts";
import { type ClusterState, Role, type ServerPhase } from "../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { DiskStanding } from "./gate/disk.ts";
import type { ServerLook } from "./server-control.ts";

export interface OwnFacts {
  readonly node: string;
  readonly bootId: string;
  readonly askedByBootId: string;
  readonly phase: ServerPhase;
  readonly retired: boolean;
  /** Whether its server may not take writes yet: it leads nobody. */
  readonly fenced: boolean;
  /** Undefined unless its server runs and has read all its data. */
  readonly look: ServerLook | undefined;
  readonly disk: DiskStanding;
}

export function ownStanding(facts: OwnFacts): GetStandingResponse {
  const { node, bootId, askedByBootId, phase, retired, fenced, look, disk } = facts;
  const of = look?.cluster === undefined ? disk : liveCopy(look, look.cluster);
  return create(GetStandingResponseSchema, {
    bootId,
    askedByBootId,
    node,
    phase,
    hasData: of.hasData,
    epoch: of.epoch,
    offset: of.offset,
    role: look?.cluster?.role ?? Role.UNSPECIFIED,
    nodeId: of.nodeId,
    primary: of.primary && !fenced,
    stopped: retired,
  });
}

/** What arrives in a full sync is not a copy before it is whole. */
function liveCopy({ keys, replication }: ServerLook, { configEpoch, nodeId, role, slots }: ClusterState) {
  return {
    hasData: keys > 0n && replication?.syncing !== true,
    epoch: configEpoch,
    offset: replication?.offset ?? 0n,
    nodeId,
    primary: role === Role.PRIMARY && slots.length > 0,
  };
}
