/** Keeps a topology up to date by asking every known node for its view, each over a connection of its own. */

import { type Reply, ReplyError } from "../../../pkg/valkey/resp.ts";
import { Trouble } from "../../../scripts/lib.ts";
import { type Address, Connection, type Credentials } from "../resp/connection.ts";
import { within } from "../until.ts";
import { SLOT_COUNT } from "./slots.ts";
import { addressText, parseAddress, parseClusterNodes, type Topology, type View } from "./topology.ts";

const ASK_MS = 500;

export class Scout {
  readonly #topology: Topology;
  readonly #credentials: Credentials;
  readonly #connections = new Map<string, Connection>();
  readonly #asking = new Map<string, Promise<void>>();
  /** Why a node's last asking failed. */
  readonly #failures = new Map<string, string>();
  readonly #terms = new Terms();
  #closed = false;

  constructor(topology: Topology, credentials: Credentials) {
    this.#topology = topology;
    this.#credentials = credentials;
  }

  /** Asks all known nodes, and those that they name, and waits for the answers; one answer is enough. */
  async survey(): Promise<void> {
    for (let known = 0; known < this.#topology.addresses.length; ) {
      known = this.#topology.addresses.length;
      this.poke();
      await Promise.all(this.#asking.values());
    }
    if (this.#topology.addresses.every((address) => this.#failures.has(addressText(address)))) {
      const reasons = [...this.#failures].map(([address, reason]) => `${address}: ${reason}`);
      throw new Trouble(`no node said who owns what; ${reasons.join("; ") || "no address was given"}`);
    }
  }

  /** Asks all known nodes without waiting; answers reach the topology one by one, so a silent node delays nobody. */
  poke(): void {
    for (const address of this.#topology.addresses) void this.#askOnce(address);
  }

  /** Whoever answers at this address may have changed, as behind a Service: the next asking connects anew. */
  reconnect(address: Address): void {
    this.#connections.get(addressText(address))?.close();
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#connections.values()) connection.close();
  }

  async #askOnce(address: Address): Promise<void> {
    const name = addressText(address);
    if (this.#closed || this.#asking.has(name)) return;
    const asking = this.#ask(address);
    this.#asking.set(name, asking);
    await asking;
    this.#asking.delete(name);
  }

  async #ask(address: Address): Promise<void> {
    const name = addressText(address);
    try {
      const connection = await this.#connection(address);
      const view = await within(`asking ${name}`, ASK_MS, () => this.#view(connection, address)).catch((error) => {
        connection.close();
        throw error;
      });
      this.#failures.delete(name);
      this.#topology.learn(view);
    } catch (error) {
      this.#failures.set(name, error instanceof Error ? error.message : String(error));
    }
  }

  async #view(connection: Connection, asked: Address): Promise<View> {
    const nodes = await connection.send("CLUSTER", "NODES");
    if (typeof nodes === "string") return parseClusterNodes(nodes, asked);
    if (nodes instanceof ReplyError && !nodes.message.includes("cluster support disabled")) throw nodes;
    return roleView(await connection.call("ROLE"), asked, this.#terms);
  }

  async #connection(address: Address): Promise<Connection> {
    const name = addressText(address);
    const kept = this.#connections.get(name);
    if (kept?.open) return kept;
    const made = await Connection.open({ at: address, ...this.#credentials, timeoutMs: ASK_MS });
    this.#connections.set(name, made);
    if (this.#closed) made.close();
    return made;
  }
}

/** Without cluster mode nobody counts epochs. A primary that was seen as a replica before was promoted: it is newer. */
class Terms {
  readonly #replicas = new Set<string>();
  readonly #terms = new Map<string, number>();
  #last = 0;

  replica(address: Address): void {
    this.#replicas.add(addressText(address));
  }

  primary(address: Address): number {
    const name = addressText(address);
    if (this.#replicas.delete(name)) this.#terms.set(name, ++this.#last);
    return this.#terms.get(name) ?? 0;
  }
}

/** Reads ROLE: a primary owns every slot; either kind names its peers. */
function roleView(role: Reply, asked: Address, terms: Terms): View {
  if (!Array.isArray(role)) throw new Error(`ROLE answered ${JSON.stringify(role)}`);
  const [kind, second, third] = role as readonly Reply[];
  if (kind !== "master") {
    terms.replica(asked);
    return { cluster: false, claims: [], addresses: peers([[second ?? "", third ?? ""]]) };
  }
  const claims = [{ owner: asked, epoch: terms.primary(asked), ranges: [[0, SLOT_COUNT - 1]] as const }];
  return { cluster: false, claims, addresses: peers(Array.isArray(third) ? third : []) };
}

function peers(pairs: readonly Reply[]): Address[] {
  return pairs.flatMap((pair) => {
    const [host, port] = Array.isArray(pair) ? (pair as readonly Reply[]) : [];
    return parseAddress(`${String(host)}:${String(port)}`) ?? [];
  });
}
