/**
 * The simulator's world: pods with disks, servers behind gates, agents that keep their rules, gossip, replication, and
 * clients that write. Nothing but a disk that is destroyed may make a write vanish: every other change is checked.
 */
import { type Copy, newerFirst } from "./copy.ts";
import { LOST_AFTER_MS } from "./member.ts";
import { blankConf, type Conf, canTalk, copyConf, hear, introduce, ownedBy, owns, type Server } from "./test-server.ts";

export interface Disk {
  conf: Conf | undefined;
  data: Set<number>;
  offset: number;
}

export interface Pod {
  ip: string;
  bootId: string;
  server: Server | undefined;
  /** What the operator said of the members of the shard. */
  sightings: ReadonlyMap<string, { readonly ip: string; readonly lost: boolean }>;
}

export interface Member {
  readonly name: string;
  readonly shard: number;
  readonly member: number;
  disk: Disk;
  pod: Pod | undefined;
  /** ValkeyNode's status, in the API server. */
  recordedId: string | undefined;
}

export interface WorldOptions {
  readonly shards: number;
  readonly members: number;
  readonly volumes: boolean;
}

export class World {
  readonly options: WorldOptions;
  readonly members: readonly Member[];
  now = LOST_AFTER_MS;
  #count = 0;
  #writes = 0;

  constructor(options: WorldOptions) {
    this.options = options;
    this.members = Array.from({ length: options.shards * options.members }, (_, position) => {
      const [shard, member] = [Math.floor(position / options.members), position % options.members];
      const disk: Disk = { conf: undefined, data: new Set(), offset: 0 };
      return { name: `c-${shard}-${member}`, shard, member, disk, pod: undefined, recordedId: undefined };
    });
  }

  fresh(kind: string): string {
    this.#count += 1;
    return `${kind}${this.#count}`;
  }

  startPod(member: Member): void {
    if (member.pod !== undefined) return;
    member.pod = { ip: this.fresh("ip"), bootId: this.fresh("boot"), server: undefined, sightings: new Map() };
  }

  /** The server dies; what was not on disk is gone when the disk lags. */
  killServer(member: Member, diskLags: boolean): void {
    const server = member.pod?.server;
    if (member.pod === undefined || server === undefined) return;
    if (!diskLags) this.save(member);
    member.pod.server = undefined;
  }

  killPod(member: Member, disk: "kept" | "lags" | "destroyed"): void {
    this.killServer(member, disk === "lags");
    member.pod = undefined;
    if (disk === "destroyed" || !this.options.volumes) member.disk = { conf: undefined, data: new Set(), offset: 0 };
  }

  save({ disk, pod }: Member): void {
    if (pod?.server === undefined) return;
    disk.conf = copyConf(pod.server);
    disk.data = new Set(pod.server.data);
    disk.offset = pod.server.offset;
  }

  serverAt(ip: string): Server | undefined {
    return this.members.find(({ pod }) => pod?.ip === ip)?.pod?.server;
  }

  peersOf(member: Member): readonly Member[] {
    return this.members.filter((other) => other !== member && other.shard === member.shard);
  }

  copyOf({ pod, disk, member }: Member): Copy {
    const { data, offset } = pod?.server ?? disk;
    const conf = pod?.server ?? disk.conf ?? blankConf("");
    const epoch = conf.role === "replica" ? (conf.peers.get(conf.primaryId)?.epoch ?? 0) : conf.configEpoch;
    const primary = conf.role === "primary" && ownedBy(conf, conf.id).length > 0;
    return { hasData: data.size > 0, epoch, offset, primary, member };
  }

  /** The agent's rule of the gate. */
  tryGate(member: Member): void {
    const { pod } = member;
    if (pod === undefined || pod.server !== undefined) return;
    const peers = this.#standings(member);
    if (peers === undefined) return;
    const mine = this.copyOf(member);
    const primary = peers.find(({ pod }) => pod?.server !== undefined && owns(pod.server));
    const newer = (a: Member) => newerFirst(this.copyOf(a), mine) < 0;
    if (primary !== undefined) {
      if (!mine.hasData || newer(primary)) this.#openGate(member, true);
      return;
    }
    const leads = mine.hasData ? !peers.some(newer) : peers.every((peer) => !this.copyOf(peer).hasData);
    if (leads) this.#openGate(member, false);
  }

  /** All peers that count; undefined when one of them does not answer. */
  #standings(member: Member): readonly Member[] | undefined {
    const counting = this.peersOf(member).filter(({ name }) => member.pod?.sightings.get(name)?.lost !== true);
    return counting.every(({ pod }) => pod !== undefined) ? counting : undefined;
  }

  #openGate(member: Member, beside: boolean): void {
    const { pod, disk, shard } = member;
    if (pod === undefined) return;
    const conf = copyConf(disk.conf ?? blankConf(this.fresh("id")));
    const { ip } = pod;
    pod.server = {
      ...conf,
      ip,
      shard,
      data: new Set(disk.data),
      offset: disk.offset,
      fenced: beside,
      banned: new Map(),
    };
    this.save(member);
  }

  write(member: Member): void {
    const server = member.pod?.server;
    if (server === undefined || server.fenced || !owns(server)) return;
    this.#writes += 1;
    server.data.add(this.#writes);
    server.offset += 1;
    this.save(member);
  }

  /** A replica gets all that its primary has, and loses what it had beside. */
  replicate(member: Member): void {
    const server = member.pod?.server;
    if (server?.role !== "replica") return;
    const peer = server.peers.get(server.primaryId);
    const primary = peer === undefined ? undefined : this.serverAt(peer.ip);
    if (primary?.id !== server.primaryId || primary.role !== "primary") return;
    server.data = new Set(primary.data);
    server.offset = primary.offset;
    this.save(member);
  }

  gossip(a: Member, b: Member): void {
    const [one, two] = [a.pod?.server, b.pod?.server];
    if (one === undefined || two === undefined || one === two || !canTalk(one, two)) return;
    hear(one, two);
    hear(two, one);
    this.#spread(one, two);
    this.#spread(two, one);
    this.save(a);
    this.save(b);
  }

  #spread(from: Server, to: Server): void {
    for (const [id, { ip }] of from.peers) {
      const server = this.serverAt(ip);
      if (server?.id === id && server !== to && !to.peers.has(id)) introduce(to, server, this.now);
    }
  }

  /** Links that do not answer are noticed. */
  detect({ pod }: Member): void {
    for (const [id, peer] of pod?.server?.peers ?? []) peer.failed = this.serverAt(peer.ip)?.id !== id;
  }

  /** Every write that any copy holds. */
  writes(): Set<number> {
    const all = new Set<number>();
    for (const { pod, disk } of this.members) {
      for (const write of disk.data) all.add(write);
      for (const write of pod?.server?.data ?? []) all.add(write);
    }
    return all;
  }

  /** What is wrong with a cluster that should be whole; empty when nothing is. */
  faults(): string[] {
    const servers = this.members.flatMap(({ pod }) => (pod?.server === undefined ? [] : [pod.server]));
    if (servers.length < this.members.length) return ["not every server runs"];
    return Array.from({ length: this.options.shards }, (_, shard) => shard).flatMap((shard) => {
      const own = servers.filter((server) => server.shard === shard);
      const primaries = own.filter((server) => ownedBy(server, server.id).includes(shard) && server.role === "primary");
      const [primary] = primaries;
      if (primary === undefined || primaries.length > 1) return [`shard ${shard} has ${primaries.length} primaries`];
      const unaware = servers.filter(({ owners }) => owners.get(shard) !== primary.id).map(({ id }) => id);
      const strays = own.filter((server) => server !== primary && server.primaryId !== primary.id).map(({ id }) => id);
      const strangers = own.flatMap(({ peers }) => [...peers.keys()].filter((id) => !servers.some((s) => s.id === id)));
      return [
        ...unaware.map((id) => `${id} does not know the primary of shard ${shard}`),
        ...strays.map((id) => `${id} does not follow the primary of shard ${shard}`),
        ...strangers.map((id) => `${id} is known and is nobody`),
        ...(own.some(({ peers }) => peers.size < servers.length - 1)
          ? [`somebody of shard ${shard} knows too few`]
          : []),
        ...(own.some(({ data }) => data.size !== primary.data.size) ? [`shard ${shard} is not in sync`] : []),
      ];
    });
  }
}
