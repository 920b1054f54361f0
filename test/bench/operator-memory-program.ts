/**
 * What an operator holds in memory at the least: the client, and caches of the kinds it watches. Follows what is in
 * NAMESPACE, says "synced N" and lives until its standard input ends.
 */

import * as v from "valibot";
import { Cache } from "../../pkg/kube/cache.ts";
import { byLabel, byOwnerUid } from "../../pkg/kube/cache-index.ts";
import { KubeClient } from "../../pkg/kube/client.ts";
import { loadConnection } from "../../pkg/kube/kube-config.ts";
import {
  CONFIG_MAPS,
  NODES,
  ObjectMetaSchema,
  PVCS,
  SECRETS,
  SERVICES,
  STATEFUL_SETS,
  typed,
} from "../../pkg/kube/resource.ts";
import { KubeTransport } from "../../pkg/kube/transport.ts";
import { createLogger } from "../../pkg/log/log.ts";
import { PROJECTED_PODS } from "../lib/pods.ts";

const log = createLogger({ program: "operator-memory", pretty: false, level: "warn" });
const selection = { namespace: process.env["NAMESPACE"] ?? "default" };
const client = new KubeClient(new KubeTransport(loadConnection()));
const stop = new AbortController();
const observer = { failed: (code: string, error: Error) => log.warn({ code, reason: error.message }, "cache failed") };

const Metadata = v.object({ metadata: ObjectMetaSchema });
const others = [NODES, SERVICES, SECRETS, CONFIG_MAPS, PVCS, STATEFUL_SETS].map((name) => {
  const resource = typed(name, (value) => v.parse(Metadata, value));
  return new Cache(client, { resource, selection, observer, indexes: { owner: byOwnerUid } });
});
const pods = new Cache(client, {
  resource: PROJECTED_PODS,
  selection,
  observer,
  indexes: { instance: byLabel("app.kubernetes.io/instance") },
});

const running = [pods, ...others].map((cache) => cache.run(stop.signal));
await Promise.all([pods, ...others].map((cache) => cache.whenSynced(AbortSignal.timeout(120_000))));
process.stdout.write(`synced ${pods.size}\n`);
await Bun.stdin.text();
stop.abort();
await Promise.all(running);
