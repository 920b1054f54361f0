/** What the server keeps on its disk, and what its agent notes beside that for the server's next start. */
import { join } from "node:path";
import type { Logger } from "../log/log.ts";
import type { AgentPaths } from "./agent-paths.ts";
import { isDiskFull } from "./files.ts";
import { Aside } from "./gate/aside.ts";
import { type DiskStanding, readDisk } from "./gate/disk.ts";
import { type Mode, modeWhileRunning, readMode, writeMode } from "./gate/persistence.ts";
import type { Eras } from "./lease/eras.ts";
import type { Opening } from "./lease/lease-driver.ts";
import type { ServerLook, Wanted } from "./server-control.ts";
import { makeReplica, mendTable } from "./server-files.ts";

export interface NodeDiskOptions {
  readonly paths: AgentPaths;
  /** Of the server, as its image's tag tells it. */
  readonly version: string | undefined;
  readonly log: Logger;
  readonly eras: () => Eras;
  /** As it was told, before what this node makes of it. */
  readonly wanted: () => Wanted | undefined;
  /** When the running server was last changed to what is wanted; undefined while it is not as wanted. */
  readonly appliedAt: () => number | undefined;
  readonly tellSetAside: (message: string) => void;
}

export class NodeDisk {
  readonly #options: NodeDiskOptions;
  readonly #aside: Aside;

  constructor(options: NodeDiskOptions) {
    const { paths, version, eras, tellSetAside } = options;
    this.#options = options;
    this.#aside = new Aside({ data: paths.data, version, emptied: () => eras().forgetLast(), tell: tellSetAside });
  }

  /** What a stopped server has left. */
  async standing(): Promise<DiskStanding> {
    return readDisk(this.#options.paths.data, this.#files);
  }

  /** Makes it what a server that passes the gate like this has to find; gives how that one keeps its data. */
  async prepare({ as, led, primaryId }: Opening): Promise<Mode> {
    const { paths, log } = this.#options;
    if (as === "replica" && led) await this.#aside.makeLoadable(this.#files);
    const { mode } = await this.standing();
    if (as === "replica" && primaryId !== undefined && makeReplica(paths, primaryId)) {
      log.warn({ primaryId }, "the server was a primary and starts as a replica");
    }
    if (mendTable(paths)) log.warn("the server's table had a replica outside of its primary's shard");
    return mode;
  }

  /** Of the server that is let in now. */
  noteStart(mode: Mode): void {
    writeMode(this.#options.paths.data, mode);
  }

  /** A full disk takes no notes. Those that are there are older, and so is what the server could still save. */
  noteLook(look: ServerLook): void {
    try {
      this.#noteMode();
      this.#noteStanding(look);
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
    if (look.replication?.inSync === true) this.#aside.replaced();
  }

  get #files() {
    const settings = this.#options.wanted()?.configuration.settings ?? [];
    const value = (name: string) => settings.findLast((setting) => setting.name === name)?.value;
    const wanted: Mode = value("appendonly") === "yes" ? "append-only" : "snapshot";
    const [dbfilename, appenddirname] = [value("dbfilename") ?? "dump.rdb", value("appenddirname") ?? "appendonlydir"];
    const manifest = `${value("appendfilename") ?? "appendonly.aof"}.manifest`;
    return { wanted, dbfilename, appenddirname, manifest };
  }

  /** How far the server is, for its next start: an append-only file does not say. */
  #noteStanding({ streams, replication }: ServerLook): void {
    const { paths, eras } = this.#options;
    if (readMode(paths.data) !== "append-only") return;
    eras().noteLast(streams, Number(replication?.offset ?? 0n));
  }

  /** Where the running server keeps its data now, for its next start. */
  #noteMode(): void {
    const { paths, appliedAt } = this.#options;
    const changedAt = appliedAt();
    if (changedAt === undefined) return;
    const { wanted, appenddirname, manifest } = this.#files;
    if (readMode(paths.data) === wanted) return;
    writeMode(paths.data, modeWhileRunning(wanted, join(paths.data, appenddirname, manifest), changedAt));
  }
}
