/** What is remembered of one run of a server. It is worth nothing after a restart, so it hangs on the run's id. */
import type { ValkeyClient } from "../../valkey/client.ts";
import { infoText, parseInfo } from "../../valkey/info.ts";
import { pairsOf, textOf } from "../../valkey/replies.ts";

/** Everything that the server shows of itself and that is kept or compared, in one round trip. */
export interface RunningServer {
  readonly runId: string;
  readonly version: string;
  /** It reads its data, and refuses settings that it will take later. */
  readonly loading: boolean;
  /** CONFIG GET: by name, other names of the same setting included. Holds passwords. */
  readonly settings: ReadonlyMap<string, string>;
}

/** `names` are asked for one by one as well: some settings are shown only to those who know them. */
export async function readRunning(
  client: ValkeyClient,
  names: readonly string[],
  signal: AbortSignal,
): Promise<RunningServer> {
  const commands = [
    ["INFO", "server", "persistence"],
    ["CONFIG", "GET", "*", ...names],
  ];
  const [info, settings] = await client.pipeline(commands, { signal });
  const fields = parseInfo(textOf("INFO", info));
  return {
    runId: infoText(fields, "run_id"),
    version: fields.get("valkey_version") ?? infoText(fields, "redis_version"),
    loading: fields.get("loading") === "1",
    settings: pairsOf("CONFIG GET", settings),
  };
}

/** Holds a value for the run that it was made in; another run finds a fresh one. */
export class PerRun<T> {
  readonly #fresh: () => T;
  #runId: string | undefined;
  #value: T;

  constructor(fresh: () => T) {
    this.#fresh = fresh;
    this.#value = fresh();
  }

  of(runId: string): T {
    if (this.#runId !== runId) {
      this.#runId = runId;
      this.#value = this.#fresh();
    }
    return this.#value;
  }
}
