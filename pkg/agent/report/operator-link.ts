/**
 * Where the operator is reached: the Service that any replica answers behind, and the leader's own address once somebody
 * has told it. An address that does not answer is forgotten.
 */
import type { Client } from "@connectrpc/connect";
import type { OperatorIdentity } from "../../pki/pki.ts";
import type { RpcClients } from "../../rpc/clients.ts";
import type { OperatorService } from "../../rpc/gen/valkey/operator/v1/operator_pb.ts";

export class OperatorLink {
  readonly #clients: RpcClients;
  readonly #url: string;
  readonly #identity: OperatorIdentity;
  #leaderUrl: string | undefined;

  constructor(clients: RpcClients, url: string, identity: OperatorIdentity) {
    this.#clients = clients;
    this.#url = url;
    this.#identity = identity;
  }

  get url(): string {
    return this.#leaderUrl ?? this.#url;
  }

  get client(): Client<typeof OperatorService> {
    return this.#clients.operator(this.url, this.#identity);
  }

  /** Says whether that is another place than before. What is no https URL is not believed. */
  leaderIs(url: string): boolean {
    const before = this.url;
    if (URL.canParse(url) && new URL(url).protocol === "https:") this.#leaderUrl = new URL(url).origin;
    return this.url !== before;
  }

  /** The one that was asked did not answer. */
  lost(): void {
    this.#leaderUrl = undefined;
  }
}
