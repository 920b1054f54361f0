/** iovalkey FOLDER PORT USER PASSWORD: the client library over TLS with a client certificate and a user of its own. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "iovalkey";
import { say } from "./say.ts";

export async function useIovalkey([
  folder = ".",
  port = "",
  username = "",
  password = "",
]: readonly string[]): Promise<void> {
  const client = new Redis({
    host: "127.0.0.1",
    port: Number(port),
    username,
    password,
    lazyConnect: true,
    retryStrategy: () => null,
    tls: {
      cert: readFileSync(join(folder, "client.crt")),
      key: readFileSync(join(folder, "client.key")),
      ca: readFileSync(join(folder, "ca.crt")),
    },
  });
  // The reason of a failure comes with this event alone; the call that failed only says that the connection is closed.
  client.on("error", (error: Error) => say({ failed: error.message }));
  try {
    await client.connect();
    say({ whoami: await client.call("ACL", "WHOAMI") });
  } catch (error) {
    say({ gaveUp: error instanceof Error ? error.message : String(error) });
  }
  // A closed connection would keep the process for another two seconds.
  process.exit(0);
}
