/** The members of this node's shard: what they hold, and what this node may do by that. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Sighting } from "../rpc/gen/valkey/agent/v1/agent_pb.ts";
import type { GetStandingResponse } from "../rpc/gen/valkey/agent/v1/peer_pb.ts";
import { whyNotOwn } from "./gate/own-proof.ts";
import { type AskPeers, askPeers, type ShardView, shardOf, standingOf } from "./gate/peers.ts";
import type { Peer, Standing } from "./gate/standing.ts";
import type { WantedStore } from "./wanted-store.ts";

export interface ShardDeps {
  readonly node: string;
  readonly store: WantedStore;
  readonly ask: AskPeers;
  /** As peers are told it, so that all compare the same. */
  readonly standing: (signal: AbortSignal) => Promise<GetStandingResponse>;
}

export class Shard {
  readonly #deps: ShardDeps;
  #sightings: ReadonlyMap<string, Sighting> = new Map();

  constructor(deps: ShardDeps) {
    this.#deps = deps;
  }

  /** Replaces what was said before; nothing said changes nothing. */
  sighted(sightings: readonly Sighting[]): void {
    if (sightings.length > 0) this.#sightings = new Map(sightings.map((sighting) => [sighting.node, sighting]));
  }

  get sightings(): readonly Sighting[] {
    return [...this.#sightings.values()];
  }

  /** With the reason while it cannot be told. */
  async own(signal: AbortSignal): Promise<Standing | string> {
    const { store, node, standing } = this.#deps;
    if (store.current === undefined) return store.problem ?? "no configuration has come yet";
    const view = this.#view();
    if (view === undefined) return `no configuration names ${node} yet`;
    return standingOf(await standing(signal), view.self.member);
  }

  async peers(signal: AbortSignal): Promise<readonly Peer[]> {
    const view = this.#view();
    return view === undefined ? [] : askPeers(this.#deps.ask, view, signal);
  }

  /** Throws unless the peers prove that this node may take its shard's slots. */
  async proveOwn(signal: AbortSignal): Promise<void> {
    const own = await this.own(signal);
    const why = typeof own === "string" ? `it waits for ${own}` : whyNotOwn(own, await this.peers(signal));
    if (why !== undefined) throw new ConnectError(`refused to own: ${why}`, Code.FailedPrecondition);
  }

  #view(): ShardView | undefined {
    const { store, node } = this.#deps;
    return store.current === undefined ? undefined : shardOf(store.current.configuration, node, this.#sightings);
  }
}
