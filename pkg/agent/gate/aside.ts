/**
 * Files that a newer release wrote, which an older server refuses to load, set aside: after a change of image that was
 * taken back halfway. A replica of a primary that leads loses nothing without them, it gets all data from its primary. They
 * are deleted when it has everything, and not before. What is broken for another reason stays where it is: a setting that
 * keeps a server from starting must not cost a copy.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isOlderMajor } from "../../plan/rollout/version.ts";
import { snapshotsOf } from "../../valkey/append-only.ts";
import { readRdbHeader } from "../../valkey/rdb-header.ts";

const FOLDER = "set-aside";

export interface DataFiles {
  readonly dbfilename: string;
  readonly appenddirname: string;
}

export interface AsideOptions {
  readonly data: string;
  /** Of the server that waits, as its image's tag tells it: `9.1`; undefined when it does not. */
  readonly version: string | undefined;
  /** What is kept about data on disk does not hold any more. */
  readonly emptied: () => void;
  readonly tell: (message: string) => void;
}

export class Aside {
  readonly #options: AsideOptions;
  readonly #folder: string;
  #kept: boolean;

  constructor(options: AsideOptions) {
    this.#options = options;
    this.#folder = join(options.data, FOLDER);
    this.#kept = existsSync(this.#folder);
  }

  /** Only for a server that starts as a replica of one that leads. */
  async makeLoadable(files: DataFiles): Promise<void> {
    const { version, data, emptied, tell } = this.#options;
    const writer = version === undefined ? "" : await newestWriter(data, files);
    if (version === undefined || !isOlderMajor(version, writer)) return;
    emptied();
    const moved = this.#move([files.dbfilename, files.appenddirname]);
    tell(
      `Valkey ${version} cannot read what ${writer} wrote: ${moved.join(" and ")} went into ${FOLDER} beside the data, and everything comes from the primary`,
    );
  }

  /** The server has everything that its primary has. */
  replaced(): void {
    if (!this.#kept) return;
    rmSync(this.#folder, { recursive: true, force: true });
    this.#kept = false;
  }

  /** Whoever dies between two of them finds the rest in place, and it is judged again. */
  #move(names: readonly string[]): readonly string[] {
    const { data } = this.#options;
    const present = names.filter((name) => existsSync(join(data, name)));
    mkdirSync(this.#folder, { recursive: true });
    this.#kept = true;
    for (const name of present) {
      rmSync(join(this.#folder, name), { recursive: true, force: true });
      renameSync(join(data, name), join(this.#folder, name));
    }
    return present;
  }
}

/** The newest release that wrote any of the files; empty when none of them tells. */
async function newestWriter(data: string, { dbfilename, appenddirname }: DataFiles): Promise<string> {
  const snapshots = [join(data, dbfilename), ...(await snapshotsOf(join(data, appenddirname)).catch(() => []))];
  const headers = await Promise.all(snapshots.map((path) => readRdbHeader(path).catch(() => undefined)));
  const writers = headers.flatMap((header) => header?.fields.get("valkey-ver") ?? []);
  return writers.reduce((newest, writer) => (isOlderMajor(newest, writer) || newest === "" ? writer : newest), "");
}
