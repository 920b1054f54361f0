/** What a stopped server has left behind: its data, how far it was, and what it was in its cluster. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { appendOnlyHasData } from "../../valkey/append-only.ts";
import type { Slots } from "../../valkey/cluster-nodes.ts";
import { readNodesConf } from "../../valkey/nodes-conf.ts";
import { readRdbHeader } from "../../valkey/rdb-header.ts";
import { reasonOf } from "../../valkey/valkey-error.ts";
import { type Mode, modeToStart, readMode } from "./persistence.ts";

export interface DiskStanding {
  readonly hasData: boolean;
  readonly epoch: bigint;
  /** 0n when it cannot be told: an append-only file does not say. */
  readonly offset: bigint;
  /** Its id in the cluster; empty when it has none yet. */
  readonly nodeId: string;
  /** Whether it was a primary with slots. */
  readonly primary: boolean;
  /** The stream of writes that the data is of; empty when it cannot be told. */
  readonly stream: string;
  /** Who owned slots, itself included, as it knew. */
  readonly owners: readonly { readonly id: string; readonly slots: readonly Slots[] }[];
  /** Where the data is: how a server has to start to find it. */
  readonly mode: Mode;
  /** What a person should know: files that cannot be read. */
  readonly trouble: string | undefined;
}

export interface DiskNames {
  /** What is wanted of the next server. */
  readonly wanted: Mode;
  /** Defaults to dump.rdb. */
  readonly dbfilename: string;
  /** Defaults to appendonlydir. */
  readonly appenddirname: string;
}

/** Never throws: what cannot be read is told, and counts as data that is not to be overwritten. */
export async function readDisk(data: string, names: DiskNames): Promise<DiskStanding> {
  const [snapshot, appended, table] = await Promise.all([
    readSnapshot(join(data, names.dbfilename)).catch(unreadable(data)),
    appendOnlyHasData(join(data, names.appenddirname)).catch(() => true),
    readTable(data),
  ]);
  const mode = modeToStart({
    wanted: names.wanted,
    noted: notedMode(data),
    hasAppendOnly: appended !== undefined,
    snapshotHasData: snapshot.hasData,
  });
  const fromSnapshot = mode === "snapshot";
  return {
    hasData: fromSnapshot ? snapshot.hasData : appended === true,
    offset: fromSnapshot ? (snapshot.offset ?? 0n) : 0n,
    stream: fromSnapshot ? snapshot.stream : "",
    ...table,
    mode,
    trouble: (fromSnapshot ? snapshot.trouble : undefined) ?? table.trouble,
  };
}

function unreadable(data: string): (error: unknown) => Snapshot {
  return (error) => ({ ...UNTOLD, trouble: `${data} cannot be read: ${reasonOf(error)}` });
}

function notedMode(data: string): Mode | undefined {
  try {
    return readMode(data);
  } catch {
    return undefined;
  }
}

interface Snapshot {
  /** What cannot be read counts as data. */
  readonly hasData: boolean;
  readonly offset: bigint | undefined;
  readonly stream: string;
  readonly trouble: string | undefined;
}

const NO_SNAPSHOT: Snapshot = { hasData: false, offset: undefined, stream: "", trouble: undefined };
const UNTOLD: Snapshot = { ...NO_SNAPSHOT, hasData: true };

async function readSnapshot(path: string): Promise<Snapshot> {
  try {
    const header = await readRdbHeader(path);
    if (header === undefined) return NO_SNAPSHOT;
    const { empty, replicationOffset: offset, replicationId: stream = "" } = header;
    return { hasData: !empty, offset, stream, trouble: undefined };
  } catch {
    if ((await stat(path)).size === 0) return NO_SNAPSHOT;
    return { ...UNTOLD, trouble: `${path} is not a whole snapshot: the server will refuse it` };
  }
}

type Table = Pick<DiskStanding, "epoch" | "nodeId" | "primary" | "owners" | "trouble">;

const NO_TABLE: Table = { epoch: 0n, nodeId: "", primary: false, owners: [], trouble: undefined };

async function readTable(data: string): Promise<Table> {
  const path = join(data, "nodes.conf");
  try {
    const table = await readNodesConf(path);
    if (table === undefined) return NO_TABLE;
    const { id, configEpoch, role, slots } = table.myself;
    const owners = [table.myself, ...table.others].filter((node) => node.slots.length > 0);
    return {
      epoch: configEpoch,
      nodeId: id,
      primary: role === "primary" && slots.length > 0,
      owners: owners.map((node) => ({ id: node.id, slots: node.slots })),
      trouble: undefined,
    };
  } catch (error) {
    return { ...NO_TABLE, trouble: `${path} cannot be read: ${reasonOf(error)}` };
  }
}
