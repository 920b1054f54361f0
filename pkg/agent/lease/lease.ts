/** The agent's part in who may write, put together. */
import type { Clock } from "../../clock/clock.ts";
import type { Logger } from "../../log/log.ts";
import { ValkeyClient } from "../../valkey/client.ts";
import type { AgentOptions } from "../agent-options.ts";
import type { DiskStanding } from "../gate/disk.ts";
import type { AskPeers } from "../gate/peers.ts";
import { readMode } from "../gate/persistence.ts";
import type { Wanted } from "../server-control.ts";
import type { AgentLogin } from "../server-files.ts";
import type { Supervisor } from "../supervise/supervisor.ts";
import { wantedRule } from "../write-rule.ts";
import { AckAsker } from "./ack-asker.ts";
import { Addresses } from "./addresses.ts";
import { Answering } from "./answering.ts";
import { BootClock } from "./boot-clock.ts";
import { Eras } from "./eras.ts";
import { KeptFile } from "./kept.ts";
import { LeaseCommands } from "./lease-commands.ts";
import { LeaseDriver, type LeaseDriverOptions } from "./lease-driver.ts";
import { OwnServer } from "./own-server.ts";
import { Post } from "./post.ts";

export interface LeaseDeps extends Pick<LeaseDriverOptions, "stop" | "tell"> {
  readonly options: AgentOptions;
  readonly bootId: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly login: AgentLogin;
  readonly ask: AskPeers;
  readonly supervisor: Supervisor;
  readonly readDisk: () => Promise<DiskStanding>;
  /** As it was told, before what this node makes of it. */
  readonly wanted: () => Wanted | undefined;
}

export interface Lease {
  readonly driver: LeaseDriver;
  readonly answering: Answering;
  readonly addresses: Addresses;
  readonly eras: Eras;
  close(): void;
}

export function makeLease(deps: LeaseDeps): Lease {
  const { options, clock, log, supervisor, wanted } = deps;
  const { paths, node, podIp } = options;
  const bootClock = new BootClock(clock);
  const bootTime = () => bootClock.now();
  const keptFile = new KeptFile(paths.lease);
  const kept = keptFile.read();
  const addresses = new Addresses(kept.addresses);
  const eras = new Eras(paths.data);
  const connected = () => new ValkeyClient({ at: { path: paths.serverSocket }, login: deps.login });
  const [commands, acks] = [new LeaseCommands(connected()), new AckAsker(connected())];
  const configuration = () => wanted()?.configuration;
  const server = new OwnServer({
    clock,
    log,
    node,
    podIp,
    supervisor,
    commands,
    acks,
    eras,
    addresses,
    readDisk: deps.readDisk,
    appendOnly: () => readMode(paths.data) === "append-only",
    wantedRule: () => wantedRule(configuration() ?? { settings: [] }),
    bootTime,
    onChange: () => driver.poke(),
  });
  const post = new Post({
    ask: deps.ask,
    addresses,
    configuration,
    sender: () => driver.sender(),
    heard: (envelope) => driver.heard(envelope),
  });
  const { bootId, stop, tell } = deps;
  const driver: LeaseDriver = new LeaseDriver({
    node,
    podIp,
    bootId,
    clock,
    log,
    configuration,
    kept,
    server,
    eras,
    addresses,
    post,
    stop,
    tell,
    bootTime,
    keptFile,
  });
  const close = () => {
    commands.close();
    acks.close();
  };
  return { driver, answering: new Answering(driver), addresses, eras, close };
}
