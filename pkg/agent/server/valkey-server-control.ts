/**
 * The server beside an agent, over its unix socket. Looks and commands have connections of their own, so that a command
 * that takes its time hides nothing; commands go one after the other, so that none sees another half done.
 */
import { create } from "@bufbuild/protobuf";
import { type Clock, systemClock } from "../../clock/clock.ts";
import {
  type AppliedConfiguration,
  AppliedConfigurationSchema,
  type Drift,
  DriftSchema,
} from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { ValkeyClient } from "../../valkey/client.ts";
import { type Login, unlessAborted } from "../../valkey/connection.ts";
import type { ServerControl, Wanted } from "../server-control.ts";
import { AclKeeper } from "./acl-keeper.ts";
import { ClusterWatch } from "./cluster-drift.ts";
import { readTableIfAny } from "./cluster-table.ts";
import { followPrimary, forgetNodes, meetPeers, type StepOptions } from "./formation.ts";
import { ClusterMemory, lookAt } from "./look.ts";
import { ownSlots } from "./own-slots.ts";
import { RepairBudget } from "./repair-budget.ts";
import { type SettingDrift, SettingsKeeper } from "./settings-keeper.ts";
import { shutDown } from "./shutdown.ts";
import { TlsKeeper } from "./tls-keeper.ts";

export interface ServerControlOptions {
  readonly socketPath: string;
  /** Who the agent is at a server that has users; ignored by one that has none. */
  readonly credentials: Login & { readonly username: string };
  /** The server's `aclfile`. */
  readonly aclFile: string;
  /** Of the server's certificate, key, authorities and parameters. */
  readonly tlsDir: string;
  /** Where the server's TLS port is asked for its certificate. Defaults to 127.0.0.1. */
  readonly host?: string;
  /** For what other nodes have to do before a step is done. Defaults to 10 s. */
  readonly waitMs?: number;
  /** For a server to save and to end. Defaults to 5 minutes; the caller's signal ends it earlier. */
  readonly shutdownMs?: number;
  readonly clock?: Clock;
}

export function valkeyServerControl(options: ServerControlOptions): ServerControl {
  return new ValkeyServerControl(options);
}

class ValkeyServerControl implements ServerControl {
  readonly #options: ServerControlOptions;
  readonly #clock: Clock;
  readonly #looks: ValkeyClient;
  readonly #commands: ValkeyClient;
  readonly #settings: SettingsKeeper;
  readonly #acl: AclKeeper;
  readonly #tls: TlsKeeper;
  readonly #watch = new ClusterWatch();
  readonly #cluster = new ClusterMemory();
  readonly #budget: RepairBudget;
  #last: Promise<unknown> = Promise.resolve();
  #secretsHash = "";

  constructor(options: ServerControlOptions) {
    const { socketPath, credentials, aclFile, tlsDir, host = "127.0.0.1", clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#looks = new ValkeyClient({ at: { path: socketPath }, login: credentials });
    this.#commands = new ValkeyClient({ at: { path: socketPath }, login: credentials });
    this.#settings = new SettingsKeeper(this.#commands);
    this.#acl = new AclKeeper({ client: this.#commands, file: aclFile, agent: credentials });
    this.#tls = new TlsKeeper({ client: this.#commands, dir: tlsDir, host, clock });
    this.#budget = new RepairBudget(clock);
  }

  look(signal: AbortSignal) {
    return lookAt(this.#looks, signal, this.#cluster);
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.#looks.call(["PING"], { signal });
  }

  async apply(wanted: Wanted, signal: AbortSignal): Promise<AppliedConfiguration> {
    return this.#inTurn(signal, async () => {
      const { configuration, secrets } = wanted;
      const settings = await this.#settings.apply(wanted, signal);
      const parts = [
        ["acl", await this.#acl.apply(secrets, signal)],
        ["tls", await this.#tls.apply(configuration.wire, secrets, signal)],
      ] as const;
      const refused = parts.flatMap(([name, outcome]) =>
        typeof outcome === "string" ? [] : [{ name, message: outcome.refused }],
      );
      if (refused.length === 0) this.#secretsHash = secrets.hash;
      return create(AppliedConfigurationSchema, {
        configurationHash: configuration.hash,
        secretsHash: this.#secretsHash,
        needsRestart: [
          ...settings.needsRestart,
          ...parts.flatMap(([name, outcome]) => (outcome === "needs-restart" ? [name] : [])),
        ],
        refusals: [...settings.refusals, ...refused],
      });
    });
  }

  async checkDrift(wanted: Wanted, signal: AbortSignal): Promise<readonly Drift[]> {
    return this.#inTurn(signal, async () => {
      const { configuration, secrets } = wanted;
      const may = (kind: string) => (name: string) => this.#budget.take(`${kind} ${name}`);
      const config = await this.#settings.check(wanted, may("config"), signal);
      const files = await this.#tls.check({ wire: configuration.wire, secrets }, may("config"), signal);
      const acl = await this.#acl.check(secrets, may("acl"), signal);
      const table = await readTableIfAny(this.#commands, signal);
      const cluster = table === undefined ? [] : this.#watch.see(table, this.#clock.monotonic());
      return [
        ...drifts("config", [...config, ...files]),
        ...drifts("acl", acl),
        ...drifts(
          "cluster",
          cluster.map((name) => ({ name, repaired: false })),
        ),
      ];
    });
  }

  own: ServerControl["own"] = (request, signal) =>
    this.#step(signal, ({ client }) => ownSlots(client, request, signal));

  meet: ServerControl["meet"] = (request, signal) => this.#step(signal, (options) => meetPeers(request, options));

  follow: ServerControl["follow"] = (request, signal) =>
    this.#step(signal, (options) => followPrimary(request, options));

  forget: ServerControl["forget"] = (nodeIds, signal) => this.#step(signal, (options) => forgetNodes(nodeIds, options));

  async shutdown(save: boolean, signal: AbortSignal): Promise<void> {
    const { shutdownMs: waitMs = 300_000 } = this.#options;
    return this.#inTurn(signal, () =>
      shutDown(save, { client: this.#commands, other: this.#looks, clock: this.#clock, signal, waitMs }),
    );
  }

  close(): void {
    this.#looks.close();
    this.#commands.close();
  }

  #step(signal: AbortSignal, work: (options: StepOptions) => Promise<void>): Promise<void> {
    return this.#inTurn(signal, async () => {
      const { waitMs = 10_000 } = this.#options;
      await work({ client: this.#commands, clock: this.#clock, signal, waitMs });
      this.#watch.expectChange();
    });
  }

  /** One command after the other; who gives up waiting for its turn is told at once and does nothing. */
  async #inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const { promise: done, resolve: finish } = Promise.withResolvers<void>();
    this.#last = before.then(() => done);
    try {
      await unlessAborted("wait for another command", before, signal);
      return await work();
    } finally {
      finish();
    }
  }
}

function drifts(kind: string, all: readonly SettingDrift[]): readonly Drift[] {
  return all.map(({ name, repaired }) => create(DriftSchema, { kind, name, repaired }));
}
