/**
 * A Valkey server of the simulator: ids, epochs, slots, tables, roles, and data as a set of writes. The slots of a shard
 * move as one, so a table holds one owner for each shard.
 */
export interface Peer {
  ip: string;
  role: "primary" | "replica";
  primaryId: string;
  epoch: number;
  failed: boolean;
}

/** What is saved in nodes.conf. */
export interface Conf {
  id: string;
  role: "primary" | "replica";
  primaryId: string;
  configEpoch: number;
  currentEpoch: number;
  owners: Map<number, string>;
  peers: Map<string, Peer>;
}

export interface Server extends Conf {
  ip: string;
  shard: number;
  data: Set<number>;
  /** How far it is in the stream of writes of its primary. */
  offset: number;
  /** Came up beside a running primary: takes no writes before it follows. */
  fenced: boolean;
  /** Ids that are not taken in again before this time. */
  readonly banned: Map<string, number>;
}

export function copyConf(conf: Conf): Conf {
  const { id, role, primaryId, configEpoch, currentEpoch, owners, peers } = conf;
  const copied = new Map([...peers].map(([peer, value]) => [peer, { ...value }] as const));
  return { id, role, primaryId, configEpoch, currentEpoch, owners: new Map(owners), peers: copied };
}

export function blankConf(id: string): Conf {
  return { id, role: "primary", primaryId: "", configEpoch: 0, currentEpoch: 0, owners: new Map(), peers: new Map() };
}

export function ownedBy({ owners }: Conf, id: string): number[] {
  return [...owners].filter(([, owner]) => owner === id).map(([shard]) => shard);
}

export function owns(server: Server): boolean {
  return server.role === "primary" && ownedBy(server, server.id).length > 0;
}

function epochOf(server: Server, id: string): number {
  return id === server.id ? server.configEpoch : (server.peers.get(id)?.epoch ?? 0);
}

/** MEET: both know each other afterwards, each where it is now. */
export function introduce(a: Server, b: Server, now: number): void {
  if (a === b) return;
  for (const [host, guest] of [
    [a, b],
    [b, a],
  ] as const) {
    if ((host.banned.get(guest.id) ?? 0) > now) continue;
    const known = host.peers.get(guest.id);
    const fresh = { role: guest.role, primaryId: guest.primaryId, epoch: guest.configEpoch };
    host.peers.set(guest.id, { ...fresh, ...known, ip: guest.ip, failed: false });
  }
}

export function canTalk(a: Server, b: Server): boolean {
  return a.peers.get(b.id)?.ip === b.ip && b.peers.get(a.id)?.ip === a.ip;
}

/** One ping from `sender`, as `receiver` takes it in. */
export function hear(receiver: Server, sender: Server): void {
  const known = receiver.peers.get(sender.id);
  if (known === undefined) return;
  const { role, primaryId } = sender;
  receiver.peers.set(sender.id, { ...known, role, primaryId, epoch: sender.configEpoch, failed: false });
  receiver.currentEpoch = Math.max(receiver.currentEpoch, sender.currentEpoch);
  if (role === "primary") for (const shard of ownedBy(sender, sender.id)) claim(receiver, sender, shard);
  for (const [shard, owner] of sender.owners) update(receiver, sender, { shard, owner });
  collide(receiver, sender);
}

function claim(receiver: Server, sender: Server, shard: number): void {
  const owner = receiver.owners.get(shard);
  if (owner === sender.id || (owner !== undefined && epochOf(receiver, owner) >= sender.configEpoch)) return;
  receiver.owners.set(shard, sender.id);
  lostSlots(receiver, owner, sender);
}

/** A primary that loses its last slot to one of its shard follows it, and so do its replicas. */
function lostSlots(receiver: Server, loser: string | undefined, winner: Pick<Server, "id" | "shard">): void {
  if (loser === undefined || winner.shard !== receiver.shard || ownedBy(receiver, loser).length > 0) return;
  const mine = loser === receiver.id || (receiver.role === "replica" && receiver.primaryId === loser);
  if (!mine) return;
  receiver.role = "replica";
  receiver.primaryId = winner.id;
  receiver.fenced = false;
}

/** A stale claim is answered with who has the slots now. */
function update(receiver: Server, sender: Server, { shard, owner }: { shard: number; owner: string }): void {
  const mine = receiver.owners.get(shard);
  const epoch = epochOf(sender, owner);
  const known = receiver.peers.get(owner);
  if (mine !== receiver.id || owner === receiver.id || known === undefined || epoch <= receiver.configEpoch) return;
  known.epoch = Math.max(known.epoch, epoch);
  receiver.owners.set(shard, owner);
  lostSlots(receiver, receiver.id, { id: owner, shard: receiver.shard });
}

function collide(receiver: Server, sender: Server): void {
  const both = receiver.role === "primary" && sender.role === "primary";
  if (!both || receiver.configEpoch !== sender.configEpoch || receiver.id > sender.id || !owns(receiver)) return;
  receiver.currentEpoch += 1;
  receiver.configEpoch = receiver.currentEpoch;
}
