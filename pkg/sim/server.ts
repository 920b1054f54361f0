/** A Valkey server as a cluster node: its life, its data, its table of the cluster. What it does is in `valkey-*.ts`. */
import type { Role } from "../plan/lease/copy.ts";

/** What a server that ends leaves on its disk: everything, an older snapshot, or nothing. */
export type DiskAfter = "current" | "old" | "empty";

export interface Election {
  readonly epoch: number;
  readonly votes: Set<number>;
  readonly until: number;
}

/** A full sync under way. */
export interface Sync {
  readonly doneAt: number;
  readonly fromRun: number;
}

export interface Era {
  readonly from: number;
  readonly epoch: number;
}

export interface Disk {
  readonly log: readonly number[];
  readonly eras: readonly Era[];
}

const EMPTY_DISK: Disk = { log: [], eras: [] };

/** A copy that does not reach to where an era began has nothing of it. */
export function dataEpochOf({ log, eras }: Disk): number {
  return eras.findLast(({ from }) => from <= log.length)?.epoch ?? 0;
}

export interface Replica {
  /** When it last acknowledged, and how much. */
  readonly at: number;
  readonly length: number;
  readonly run: number;
}

export class Server {
  phase: "down" | "gated" | "running" = "running";
  /** Counts its starts. */
  run = 1;
  frozen = false;
  fenced = true;
  role: Role = "replica";
  primary: number;
  log: number[] = [];
  /** From which length of the log on each epoch's primary wrote: an older snapshot is of an older epoch. */
  eras: Era[] = [];
  disk: Disk = EMPTY_DISK;
  wasPrimary = false;
  startedAt = 0;
  /** Since when it leads, if it does. */
  leadsSince = 0;
  /** A restarted primary takes no writes at first, until it has heard of the cluster. */
  writableFrom = 0;

  linkUp = false;
  linkRun = 0;
  heardPrimaryAt = 0;
  sync: Sync | undefined = undefined;
  readonly acks = new Map<number, Replica>();
  /** What went out in the last round of replication: the next one brings it to the replicas. */
  sentLength = 0;

  owners: number[];
  epochs: number[];
  currentEpoch: number;
  lastVoteEpoch = 0;
  readonly heardAt: number[];
  /** Whether it is connected to a majority of the primaries: without, it stops taking writes by itself. */
  inMajority = true;
  minoritySince = 0;
  election: Election | undefined = undefined;

  constructor(index: number, shards: number, nodes: number) {
    this.primary = index % shards;
    this.owners = Array.from({ length: shards }, (_, shard) => shard);
    this.epochs = Array.from({ length: shards }, (_, shard) => shard + 1);
    this.currentEpoch = shards;
    this.eras = [{ from: 0, epoch: (index % shards) + 1 }];
    this.heardAt = Array.from({ length: nodes }, () => 0);
  }

  get dataEpoch(): number {
    return dataEpochOf(this);
  }

  get answers(): boolean {
    return this.phase === "running" && !this.frozen;
  }

  end(disk: DiskAfter): void {
    if (this.phase === "running") {
      this.disk = this.#saved(disk);
      this.wasPrimary = this.role === "primary";
    } else if (disk === "empty") this.disk = EMPTY_DISK;
    this.phase = "down";
    this.frozen = false;
    this.linkUp = false;
    this.sync = undefined;
    this.election = undefined;
    this.log = [];
  }

  #saved(disk: DiskAfter): Disk {
    if (disk === "current") return { log: this.log, eras: this.eras };
    const kept = disk === "old" ? this.log.length >> 1 : 0;
    if (kept === 0) return EMPTY_DISK;
    return { log: this.log.slice(0, kept), eras: this.eras.filter(({ from }) => from < kept) };
  }

  arriveAtGate(): void {
    this.phase = "gated";
    this.run += 1;
    this.fenced = true;
  }

  /** Passes the gate: reads its disk and begins in the role it was given. */
  open(role: Role, primary: number, now: number): void {
    this.phase = "running";
    this.log = this.disk.log.slice();
    this.sentLength = this.log.length;
    this.eras = this.disk.eras.slice();
    this.role = role;
    this.primary = primary;
    this.acks.clear();
    this.heardAt.fill(now);
    this.heardPrimaryAt = Number.NEGATIVE_INFINITY;
    this.inMajority = true;
    this.startedAt = now;
    this.leadsSince = now;
    this.writableFrom = now + 2000;
  }
}
