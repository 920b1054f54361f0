/** Which member is which node of the cluster and where it is, as its agent said and as the operator said. */

const STRANGER = "id:";

export interface Heard {
  readonly nodeId: string;
  readonly ip: string;
}

const UNHEARD: Heard = { nodeId: "", ip: "" };

export class Addresses {
  readonly #heard: Map<string, Heard>;
  /** By id; made anew with every change. */
  #names: ReadonlyMap<string, string>;
  #sighted: ReadonlyMap<string, string> = new Map();
  /** Where each is tried: the newest word first, then what failed. */
  readonly #hosts = new Map<string, readonly string[]>();

  constructor(known: Readonly<Record<string, Heard>> = {}) {
    this.#heard = new Map(Object.entries(known));
    this.#names = namesOf(this.#heard);
    for (const [name, { ip }] of this.#heard) this.#prefer(name, ip, undefined);
  }

  /** For whoever keeps it over a restart. */
  get known(): Readonly<Record<string, Heard>> {
    return Object.fromEntries(this.#heard);
  }

  /** What the agent of a member said of itself; whether that is news. */
  hear(name: string, { nodeId, ip }: Heard): boolean {
    const before = this.#heard.get(name) ?? UNHEARD;
    const next = { nodeId: nodeId === "" ? before.nodeId : nodeId, ip: ip === "" ? before.ip : ip };
    this.#prefer(name, next.ip, before.ip);
    if (before.nodeId === next.nodeId && before.ip === next.ip) return false;
    this.#heard.set(name, next);
    this.#names = namesOf(this.#heard);
    return true;
  }

  /** Where the operator sees the members now; only what it did not say before is news. */
  sight(sightings: ReadonlyMap<string, string>): void {
    for (const [name, ip] of sightings) {
      const before = this.#sighted.get(name);
      if (before !== ip) this.#prefer(name, ip, before);
    }
    this.#sighted = sightings;
  }

  /** The address at which it is tried now. Its name is tried when nobody has said anything, or what was said failed. */
  hostOf(name: string, host: string): string {
    const known = this.#hosts.get(name) ?? [];
    const hosts = known.includes(host) ? known : [...known, host];
    this.#hosts.set(name, hosts);
    return hosts[0] ?? host;
  }

  /** It did not answer there: the next try goes elsewhere. Late news of an earlier try changes nothing. */
  failed(name: string, host: string): void {
    const [first, ...others] = this.#hosts.get(name) ?? [];
    if (first === host) this.#hosts.set(name, [...others, first]);
  }

  #prefer(name: string, ip: string, instead: string | undefined): void {
    const known = this.#hosts.get(name) ?? [];
    if (ip === "" || known[0] === ip) return;
    this.#hosts.set(name, [ip, ...known.filter((host) => host !== ip && host !== instead)]);
  }

  /** Who is which node of the cluster, by its id there; the same object until that changes. */
  get names(): ReadonlyMap<string, string> {
    return this.#names;
  }

  nameOf(nodeId: string): string {
    return nameIn(this.#names, nodeId);
  }

  idOf(name: string): string | undefined {
    if (name.startsWith(STRANGER)) return name.slice(STRANGER.length);
    const nodeId = this.#heard.get(name)?.nodeId ?? "";
    return nodeId === "" ? undefined : nodeId;
  }
}

/** One that no agent has named yet has its id for a name: it is somebody, of whom nothing is known. */
export function nameIn(names: ReadonlyMap<string, string>, nodeId: string): string {
  return names.get(nodeId) ?? `${STRANGER}${nodeId}`;
}

/** Where two have said the same id, the first counts. */
function namesOf(heard: ReadonlyMap<string, Heard>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [name, { nodeId }] of heard) if (!names.has(nodeId)) names.set(nodeId, name);
  return names;
}
