/** Phases and roles by their names on the wire. */
import type { Role as LeaseRole, Phase } from "../../plan/lease/copy.ts";
import { Role, ServerPhase } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";

const PHASES: Readonly<Record<Phase, ServerPhase>> = {
  absent: ServerPhase.ABSENT,
  gated: ServerPhase.GATED,
  loading: ServerPhase.LOADING,
  running: ServerPhase.RUNNING,
  silent: ServerPhase.SILENT,
};
const BY_NUMBER: ReadonlyMap<ServerPhase, Phase> = new Map([
  [ServerPhase.ABSENT, "absent"],
  [ServerPhase.GATED, "gated"],
  [ServerPhase.LOADING, "loading"],
  [ServerPhase.RUNNING, "running"],
  [ServerPhase.STOPPED, "absent"],
]);

export function toPhase(phase: Phase): ServerPhase {
  return PHASES[phase];
}

/** Of one that is not known nothing good can be said. */
export function fromPhase(phase: ServerPhase): Phase {
  return BY_NUMBER.get(phase) ?? "silent";
}

export function toRole(role: LeaseRole | undefined): Role {
  if (role === undefined) return Role.UNSPECIFIED;
  return role === "primary" ? Role.PRIMARY : Role.REPLICA;
}

export function fromRole(role: Role): LeaseRole | undefined {
  if (role === Role.UNSPECIFIED) return undefined;
  return role === Role.PRIMARY ? "primary" : "replica";
}
