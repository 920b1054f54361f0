/**
 * Who owns which slot, put together from what any node says. Nodes disagree while a cluster changes: of two claims to a
 * slot the one with the higher configuration epoch is the newer. A server without cluster mode is one owner of all.
 */
import type { Address } from "../resp/connection.ts";
import { SLOT_COUNT } from "./slots.ts";

export interface Claim {
  readonly owner: Address;
  readonly epoch: number;
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

/** What one node said: claims of primaries, and every address it knows. */
export interface View {
  readonly cluster: boolean;
  readonly claims: readonly Claim[];
  readonly addresses: readonly Address[];
}

/** Epochs of slots that nobody claimed yet, and of those whose owner is doubted: any claim is above them. */
const DOUBTED = -1;

export class Topology {
  /** Every address ever known; slots name theirs by its place in this list. Views come often, so this must be fast. */
  readonly #addresses: Address[] = [];
  readonly #owners = new Int32Array(SLOT_COUNT).fill(-1);
  readonly #epochs = new Float64Array(SLOT_COUNT).fill(DOUBTED);
  #changed = Promise.withResolvers<void>();
  #cluster = false;

  /** Resolves when an owner changes next. */
  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Whether a node runs in cluster mode. */
  get cluster(): boolean {
    return this.#cluster;
  }

  get addresses(): readonly Address[] {
    return this.#addresses;
  }

  owner(slot: number): Address | undefined {
    return this.#addresses[this.#owners[slot] ?? -1];
  }

  /** The place of the address in the list. */
  know(address: Address): number {
    const known = this.#addresses.findIndex((other) => sameAddress(other, address));
    return known === -1 ? this.#addresses.push(address) - 1 : known;
  }

  /** A node no longer named by anybody that answers is kept: it may come back. */
  learn(view: View): void {
    for (const address of view.addresses) this.know(address);
    this.#cluster ||= view.cluster;
    const news = view.claims.map((claim) => this.#claim(claim));
    if (news.some(Boolean)) this.#announce();
  }

  /** A redirection comes from a node that surely does not own the slot: it counts more than any view. */
  moved(slot: number, owner: Address): void {
    const index = this.know(owner);
    if (this.#owners[slot] === index) return;
    this.#owners[slot] = index;
    this.#announce();
  }

  /**
   * Lets any next claim win over what this owner of the slot was known to own, because it failed: it may have another
   * address by now, with the same epoch. All of it, or every slot would have to fail once before it is found again.
   */
  doubt(slot: number, owner: Address): void {
    const known = this.owner(slot);
    if (known === undefined || !sameAddress(known, owner)) return;
    const index = this.#owners[slot];
    for (let other = 0; other < SLOT_COUNT; other++) if (this.#owners[other] === index) this.#epochs[other] = DOUBTED;
  }

  #claim({ owner, epoch, ranges }: Claim): boolean {
    const index = this.know(owner);
    let news = false;
    for (const [from, to] of ranges) {
      for (let slot = from; slot <= to; slot++) news = this.#claimSlot(slot, index, epoch) || news;
    }
    return news;
  }

  #claimSlot(slot: number, index: number, epoch: number): boolean {
    // An equal epoch is no news: it may be a view from before a redirection that is known here.
    if ((this.#epochs[slot] ?? 0) >= epoch) return false;
    const news = this.#owners[slot] !== index;
    this.#epochs[slot] = epoch;
    this.#owners[slot] = index;
    return news;
  }

  #announce(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

/** Reads CLUSTER NODES. A node that does not know its own address yet is where it was asked. */
export function parseClusterNodes(text: string, asked: Address): View {
  const claims: Claim[] = [];
  const addresses: Address[] = [];
  for (const line of text.split("\n").filter((line) => line !== "")) {
    const [, endpoint = "", flags = "", , , , epoch = "0", , ...slots] = line.split(" ");
    const owner = endpointAddress(endpoint, asked);
    if (owner === undefined || /noaddr|handshake/.test(flags)) continue;
    addresses.push(owner);
    const ranges = slots.filter((slot) => !slot.startsWith("[")).map(parseRange);
    if (flags.includes("master") && ranges.length > 0) claims.push({ owner, epoch: Number(epoch), ranges });
  }
  return { cluster: true, claims, addresses };
}

/** `10.0.0.1:6379@16379,name`: the name when one is announced, because a certificate may carry nothing else. */
function endpointAddress(endpoint: string, asked: Address): Address | undefined {
  const [place = "", name = ""] = endpoint.split(",");
  const address = parseAddress(place.split("@")[0] ?? "", asked.host);
  return address === undefined || name === "" ? address : { host: name, port: address.port };
}

function parseRange(text: string): readonly [number, number] {
  const [from, to = from] = text.split("-").map(Number);
  return [from ?? 0, to ?? 0];
}

/** `host:port`, also with an IPv6 host in brackets or bare; an empty host means the given one. */
export function parseAddress(text: string, emptyHost = ""): Address | undefined {
  const colon = text.lastIndexOf(":");
  const port = Number(text.slice(colon + 1));
  const host = text.slice(0, Math.max(colon, 0)).replace(/^\[|\]$/g, "") || emptyHost;
  return colon === -1 || host === "" || !Number.isInteger(port) || port <= 0 || port > 65_535
    ? undefined
    : { host, port };
}

export function addressText({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

export function sameAddress(a: Address, b: Address): boolean {
  return a.host === b.host && a.port === b.port;
}
