/**
 * A replica that does nothing but lead: every 20 ms it commands something if it may, and says so on its output.
 * Started by the leader tests, which kill and freeze it: bun test/e2e/leader-process.ts NAMESPACE LEASE IDENTITY
 */
import { systemClock } from "../../pkg/clock/clock.ts";
import { LeaderElector } from "../../pkg/kube/lease.ts";
import { leaseStore } from "../../pkg/kube/lease-store.ts";
import type { Term } from "../../pkg/kube/lease-term.ts";
import { createLogger } from "../../pkg/log/log.ts";
import { clientOf } from "../lib/kube.ts";

const [namespace = "", name = "", identity = ""] = process.argv.slice(2);
const client = clientOf();
const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());

async function lead(term: Term): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const beat = setInterval(() => {
    try {
      console.log(JSON.stringify({ did: "command", token: term.check(), at: Date.now() }));
    } catch (error) {
      console.log(JSON.stringify({ did: "refuse", token: term.token, at: Date.now(), why: String(error) }));
      resolve();
    }
  }, 20);
  AbortSignal.any([term.signal, stop.signal]).addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearInterval(beat);
}

const log = createLogger({ program: "leader-process", level: "fatal" });
const elector = new LeaderElector({
  store: leaseStore(client, { namespace, name }),
  identity,
  log,
  clock: systemClock,
});
console.log(JSON.stringify({ did: "start", token: 0, at: Date.now() }));
await elector.run(lead, stop.signal);
client.close();
