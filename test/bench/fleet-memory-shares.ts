/** The processes that play the fleet, each with a namespace of its own: one alone would be busier than the operator. */
import { join } from "node:path";
import type { KubeClient } from "../../pkg/kube/client.ts";
import { NAMESPACES } from "../../pkg/kube/resource.ts";
import { Trouble } from "../../scripts/lib.ts";
import { MOST_SHARES } from "./fleet-memory-machines.ts";

export interface PlayedSharesOptions {
  readonly clusters: number;
  readonly operatorUrl: string;
  readonly operatorNamespace: string;
}

const CLUSTERS_PER_SHARE = 100;

export class PlayedShares {
  readonly #processes: readonly Bun.Subprocess<"pipe", "ignore", "inherit">[];

  static async start(client: KubeClient, options: PlayedSharesOptions): Promise<PlayedShares> {
    const count = Math.ceil(options.clusters / CLUSTERS_PER_SHARE);
    if (count > MOST_SHARES) {
      throw new Trouble(`at most ${MOST_SHARES * CLUSTERS_PER_SHARE} clusters can be played, not ${options.clusters}`);
    }
    const shares = [...Array(count).keys()];
    for (const share of shares) await client.create(NAMESPACES, { metadata: { name: namespaceName(share) } });
    return new PlayedShares(shares, options);
  }

  private constructor(shares: readonly number[], { operatorUrl, operatorNamespace }: PlayedSharesOptions) {
    const program = join(import.meta.dir, "fleet-memory-program.ts");
    this.#processes = shares.map((share) =>
      Bun.spawn([process.execPath, program, namespaceName(share), String(share), operatorUrl, operatorNamespace], {
        stdin: "pipe",
        stdout: "ignore",
        stderr: "inherit",
      }),
    );
  }

  /** Where the n-th cluster is played. */
  namespaceOf(cluster: number): string {
    return namespaceName(Math.floor(cluster / CLUSTERS_PER_SHARE));
  }

  async stop(): Promise<void> {
    for (const { stdin } of this.#processes) await stdin.end();
    await Promise.all(this.#processes.map(({ exited }) => exited));
  }
}

function namespaceName(share: number): string {
  return `played-${share}`;
}
