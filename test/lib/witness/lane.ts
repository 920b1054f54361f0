/** One stream of writes to one server, over a connection of its own that is made again whenever it ends. */
import { ReplyError } from "../../../pkg/valkey/resp.ts";
import { Connection } from "../resp/connection.ts";
import { within } from "../until.ts";
import type { Acknowledgement, WitnessedServer } from "./acknowledgement.ts";

const CONNECT_MS = 500;
/** Longer than any freeze of a test: what a thawed server still acknowledges is the most interesting of all. */
const PATIENCE_MS = 15_000;
const WAIT_MS = 500;

export interface LaneOptions {
  readonly server: WitnessedServer;
  /** Whether each write is waited for on all replicas. */
  readonly waits: boolean;
  readonly everyMs: number;
  readonly on: (acknowledgement: Acknowledgement) => void;
}

/** Writes until the signal; ends when the write that is on its way has ended. */
export async function runLane(options: LaneOptions, signal: AbortSignal): Promise<void> {
  const { server, everyMs } = options;
  let connection: Connection | undefined;
  const close = () => connection?.close();
  signal.addEventListener("abort", close);
  for (let number = 0; !signal.aborted; number += 1) {
    const begun = performance.now();
    try {
      if (connection?.open !== true)
        connection = await Connection.open({ at: { host: server.ip, port: server.port }, timeoutMs: CONNECT_MS });
      const open = connection;
      await within(`a write to ${server.pod}`, PATIENCE_MS, () => write(options, open, number));
    } catch {
      close(); // Silence, a refused connection, a closed one: all the same to a witness, nothing was acknowledged.
    }
    await Bun.sleep(Math.max(1, everyMs - (performance.now() - begun)));
  }
  close();
}

async function write(options: LaneOptions, connection: Connection, number: number): Promise<void> {
  const { server, waits, on } = options;
  const key = `witness:{${server.tag}}:${server.pod}:${waits ? "w" : "s"}:${Date.now()}:${number}`;
  const sentAt = Date.now();
  // In one piece, so that nothing of another connection comes between the epochs and the write.
  const [before, reply, after] = await Promise.all([
    connection.send("CLUSTER", "INFO"),
    connection.send("SET", key, key),
    connection.send("CLUSTER", "INFO"),
  ]);
  if (reply instanceof ReplyError) return;
  const answeredAt = Date.now();
  const epoch = epochOf(before);
  // It became another one's, or the other way round, in this very moment: nothing can be said.
  if (epoch === undefined || epoch !== epochOf(after)) return;
  const waited = waits && (await connection.send("WAIT", String(server.replicas), String(WAIT_MS)));
  const { pod, shard } = server;
  on({ pod, shard, key, epoch, sentAt, answeredAt, waited: waited === server.replicas });
}

function epochOf(info: unknown): number | undefined {
  const found = /^cluster_my_epoch:(\d+)/m.exec(String(info))?.[1];
  return found === undefined ? undefined : Number(found);
}
