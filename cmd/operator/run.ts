/**
 * The operator, put together: caches, controllers that run while this replica leads, and what every replica serves
 * (probes, metrics, webhooks).
 */
import { randomUUID } from "node:crypto";
import { AgentHub } from "../../pkg/controllers/agents/agent-hub.ts";
import { identityPusher } from "../../pkg/controllers/agents/identity-push.ts";
import { holderIdentity, leaderUrl } from "../../pkg/controllers/agents/leader-address.ts";
import { operatorService } from "../../pkg/controllers/agents/operator-service.ts";
import { CrdGate } from "../../pkg/controllers/install/crd-gate.ts";
import { installController } from "../../pkg/controllers/install/install-controller.ts";
import { nodeController } from "../../pkg/controllers/node/node-controller.ts";
import { VALKEY_CAS, VALKEY_CLUSTERS, VALKEY_DEFAULTS, VALKEY_NODES } from "../../pkg/controllers/resources.ts";
import { retryController } from "../../pkg/controllers/trouble/retry-controller.ts";
import { HealthServer } from "../../pkg/health/health-server.ts";
import { levelControl, toggleOnSignal } from "../../pkg/health/log-level.ts";
import { Applier, applyMetrics } from "../../pkg/kube/apply.ts";
import { byLabel } from "../../pkg/kube/cache-index.ts";
import { KubeClient } from "../../pkg/kube/client.ts";
import type { ControllerDeps } from "../../pkg/kube/controller.ts";
import { EventRecorder, eventMetrics, eventStore } from "../../pkg/kube/events.ts";
import { Expectations } from "../../pkg/kube/expectations.ts";
import { loadConnection } from "../../pkg/kube/kube-config.ts";
import { LeaderElector } from "../../pkg/kube/lease.ts";
import { leaseMetrics } from "../../pkg/kube/lease-metrics.ts";
import { leaseStore } from "../../pkg/kube/lease-store.ts";
import { Manager } from "../../pkg/kube/manager.ts";
import { queueMetrics } from "../../pkg/kube/queue-metrics.ts";
import { KubeTransport } from "../../pkg/kube/transport.ts";
import { createLogger, type Logger } from "../../pkg/log/log.ts";
import { Registry } from "../../pkg/metrics/metrics.ts";
import { registerProcessMetrics } from "../../pkg/metrics/process-metrics.ts";
import { CR_LABEL } from "../../pkg/plan/objects/names.ts";
import { rpcMetrics } from "../../pkg/rpc/rpc-metrics.ts";
import { Shutdown } from "../../pkg/shutdown/shutdown.ts";
import { VERSION } from "../../pkg/version/version.ts";
import { Caches } from "./caches.ts";
import { assembleCertificates } from "./certificates.ts";
import { agentOf, assembleClusters } from "./clusters.ts";
import type { OperatorFlags } from "./flags.ts";
import { nodeCaches } from "./node-caches.ts";
import { startable } from "./startable.ts";
import { troubleCaches } from "./trouble-caches.ts";
import { webhookService } from "./webhooks.ts";

/** Returns the exit code. */
export async function runOperator(flags: OperatorFlags): Promise<number> {
  const log = createLogger({ program: "valkey-operator", level: flags.logLevel });
  const level = levelControl(log);
  const stopToggling = toggleOnSignal(level, log);
  log.info({ version: VERSION, identity: flags.identity, scope: flags.watchScope }, "starting");
  const registry = new Registry();
  registerProcessMetrics(registry, { name: "valkey-operator", version: VERSION.version });
  const transport = new KubeTransport(loadConnection({ ...flags, userAgent: `valkey-operator/${VERSION.version}` }));
  const client = new KubeClient(transport);
  const manager = assemble(flags, { log, registry, client });
  const health = new HealthServer({ log, port: flags.healthPort, level, metrics: () => registry.text() });
  health.addReadiness("manager", () => (manager.health.ready ? undefined : `the operator is ${manager.health.phase}`));
  const stop = new AbortController();
  const crds = new CrdGate({ client, release: VERSION.version, log });
  health.addReadiness("crds", () => crds.problem);
  const running = crds.open(stop.signal).then(() => manager.run(stop.signal));
  const shutdown = new Shutdown({
    log,
    stoppers: [
      { name: "readiness", stop: () => health.notReady("the operator stops") },
      { name: "manager", deadlineMs: 20_000, stop: () => endManager(stop, running) },
      { name: "health", stop: () => health.close() },
      { name: "connections", stop: () => transport.close() },
    ],
  });
  const stopListening = shutdown.listen();
  const failed = await running.then(
    () => false,
    (error: unknown) => reportFailure(log, error),
  );
  const code = await shutdown.begin(failed ? "the manager failed" : "the manager ended");
  stopListening();
  stopToggling();
  return failed ? 1 : code;
}

async function endManager(stop: AbortController, running: Promise<void>): Promise<void> {
  stop.abort(new Error("the operator stops"));
  // How it failed, if it did, is told by whoever waits for it.
  await running.catch(() => undefined);
}

function reportFailure(log: Logger, error: unknown): true {
  log.fatal({ err: error }, "the operator cannot go on");
  return true;
}

interface Base {
  readonly log: Logger;
  readonly registry: Registry;
  readonly client: KubeClient;
}

function assemble(flags: OperatorFlags, base: Base): Manager {
  const { log, registry, client } = base;
  const expectations = new Expectations();
  const recorder = new EventRecorder({
    store: eventStore(client),
    controller: "valkey.io/operator",
    instance: flags.identity,
    log,
    metrics: eventMetrics(registry),
  });
  const applier = new Applier({ client, expectations, metrics: applyMetrics(registry) });
  const caches = new Caches(flags, base, expectations);
  const cas = caches.add(VALKEY_CAS);
  const defaults = caches.add(VALKEY_DEFAULTS);
  const nodes = caches.add(VALKEY_NODES, {}, { cluster: byLabel(CR_LABEL) });
  const clusters = caches.add(VALKEY_CLUSTERS);
  const hub = new AgentHub({ log });
  const certificates = assembleCertificates({
    flags,
    ...base,
    caches,
    applier,
    recorder,
    expectations,
    cas,
    defaults,
    clusters,
    nodes,
    pusher: identityPusher({ hub, targetOf: (namespace, node) => agentOf(ofNodes, namespace, node) }),
  });
  const ofNodes = nodeCaches({ flags, caches, nodes, certificates: certificates.secrets });
  const troubles = troubleCaches(flags, caches);
  const cluster = assembleClusters({
    flags,
    client,
    caches,
    applier,
    recorder,
    hub,
    clusters,
    defaults,
    troubles,
    shared: ofNodes,
    tls: certificates.tls,
    servers: certificates.servers,
  });
  const elector = new LeaderElector({
    store: leaseStore(client, { namespace: flags.namespace, name: "valkey-operator" }),
    // A restarted container keeps its pod's name, but must not be taken for the leader it was.
    identity: holderIdentity(flags.identity, randomUUID(), flags.podIp),
    log,
    metrics: leaseMetrics(registry),
  });
  const controllerDeps: ControllerDeps = { expectations, log, metrics: queueMetrics(registry) };
  return new Manager({
    log,
    caches: caches.services,
    services: [
      { name: "events", run: (signal) => recorder.run(signal) },
      ...certificates.services,
      operatorService({
        hub,
        identity: async (signal) => certificates.identity.whenLoaded(signal),
        namespace: flags.namespace,
        port: flags.agentPort,
        leaderUrl: () => leaderUrl(elector.holder?.identity, flags.agentPort),
        metrics: rpcMetrics(registry),
        log,
      }),
      ...(flags.watchScope === "cluster" ? [webhookService(flags, { ...base, defaults })] : []),
    ],
    controllers: [
      hub,
      startable(installController({ client, namespace: flags.namespace, cas, defaults }), controllerDeps),
      ...certificates.controllers.map((start) => start(controllerDeps)),
      startable(nodeController({ client, applier, recorder, caches: ofNodes, reports: hub.reports }), controllerDeps),
      startable(cluster, controllerDeps),
      startable(retryController({ client, caches: ofNodes, failedCreates: troubles.failedCreates }), controllerDeps),
    ],
    elector,
  });
}
