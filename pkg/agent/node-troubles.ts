/** What is wrong with this node, by reason, in words for its people. */
import { Role, type Trouble } from "../rpc/gen/valkey/agent/v1/state_pb.ts";
import { roomAt, roomTrouble } from "./disk-room.ts";
import type { ServerLook } from "./server-control.ts";

export interface TroubleFacts {
  /** Why there is nothing to start a server with. */
  readonly noConfiguration: string | undefined;
  /** Files that cannot be read. */
  readonly badFiles: string | undefined;
  readonly notApplied: string | undefined;
  readonly failsToStart: string | undefined;
  readonly look: ServerLook | undefined;
  /** For how long the server has been without the write lease, and why that is so. */
  readonly noLeaseMs: number;
  readonly leaseHold: string | undefined;
  /** The folder of the data. */
  readonly data: string;
}

export type NodeTrouble = Pick<Trouble, "reason" | "message">;

/** Of a primary that may not write for longer than a failover takes. */
const LEASE_TROUBLE_MS = 5000;

export function nodeTroubles(facts: TroubleFacts): readonly NodeTrouble[] {
  const room = roomAt(facts.data);
  const noRoom = room === undefined ? undefined : roomTrouble(room);
  const found: readonly (readonly [string, string | undefined])[] = [
    ["NoConfiguration", facts.noConfiguration],
    ["BadFiles", facts.badFiles],
    ["NotApplied", facts.notApplied],
    ["ServerFailsToStart", facts.failsToStart],
    ["NoWriteLease", leaseTrouble(facts)],
    ...(noRoom === undefined ? [] : [noRoom]),
  ];
  return found.flatMap(([reason, message]) => (message === undefined ? [] : [{ reason, message }]));
}

function leaseTrouble({ look, noLeaseMs, leaseHold }: TroubleFacts): string | undefined {
  const { cluster } = look ?? {};
  const leads = cluster?.role === Role.PRIMARY && cluster.slots.length > 0;
  if (!leads || noLeaseMs < LEASE_TROUBLE_MS) return undefined;
  return `it takes no writes: ${leaseHold ?? "too few agents answer to grant the write lease"}`;
}
