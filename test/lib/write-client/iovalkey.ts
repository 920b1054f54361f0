/** The front end that feels what users feel: iovalkey with its defaults, which retries and redirects on its own. */
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "iovalkey";
import { within } from "../until.ts";
import { type Attempt, count, type FrontEnd, failure, type Lane, type Target } from "./front-end.ts";

const RETRY_MS = 10;
const CONNECT_MS = 10_000;

type Client = Redis | Cluster;

export class Iovalkey implements FrontEnd {
  readonly name = "iovalkey";
  readonly events = new Map<string, number>();
  readonly #target: Target;
  readonly #cluster: boolean;
  readonly #clients: Client[] = [];

  constructor(target: Target, mode: { readonly cluster: boolean }) {
    this.#target = target;
    this.#cluster = mode.cluster;
  }

  async lane(): Promise<Lane> {
    const client = this.#client();
    this.#clients.push(client);
    // iovalkey tells the reason of a failure by this event alone, and ends the process when nobody listens.
    client.on("error", (error: Error) => count(this.events, kindOf(error)));
    await within("iovalkey connecting", CONNECT_MS, () => client.connect());
    return {
      set: (key, value) => attempt(async () => void (await client.set(key, value))),
      get: (key) => attempt(() => client.get(key)),
    };
  }

  hint(): Promise<void> {
    return Bun.sleep(RETRY_MS);
  }

  close(): void {
    for (const client of this.#clients) client.disconnect();
  }

  #client(): Client {
    const { addresses, tls, username, password } = this.#target;
    const login: RedisOptions = {
      ...(tls === undefined ? {} : { tls }),
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
    };
    if (!this.#cluster) return new Redis({ ...addresses[0], ...login, lazyConnect: true });
    const options: ClusterOptions = { redisOptions: login, lazyConnect: true };
    // Certificates carry the announced names; without this the names are resolved first and then do not match.
    if (tls !== undefined) options.dnsLookup = (address, callback) => callback(null, address);
    return new Cluster([...addresses], options);
  }
}

async function attempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { done: true, value: await work() };
  } catch (error) {
    return failure(kindOf(error));
  }
}

/** Server errors begin with their code; others are told apart by system code or by their text. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && typeof error.code === "string") return error.code;
  return /^[A-Z]{3,}(?= )/.exec(error.message)?.[0] ?? error.message;
}
