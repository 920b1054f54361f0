/** The admission webhooks, which every replica serves. */
import { DEFAULTS_NAME, type ValkeyClusterDefaults } from "../../pkg/api/cluster-defaults.ts";
import type { ValkeyClusterSpec } from "../../pkg/api/cluster-spec.ts";
import { BUILT_IN_DEFAULTS } from "../../pkg/api/defaults.ts";
import { OWNED_BY, OWNED_LABEL } from "../../pkg/api/kind.ts";
import { resolveSpec } from "../../pkg/api/resolve.ts";
import { mayChange } from "../../pkg/controllers/cluster/access-review.ts";
import { admitChange, type FailoverDeps } from "../../pkg/controllers/cluster/admission-failover.ts";
import type { Cache } from "../../pkg/kube/cache.ts";
import type { KubeClient } from "../../pkg/kube/client.ts";
import type { Service } from "../../pkg/kube/manager.ts";
import type { KubeTransport } from "../../pkg/kube/transport.ts";
import type { Logger } from "../../pkg/log/log.ts";
import type { Registry } from "../../pkg/metrics/metrics.ts";
import { type ApiCall, kubeCaBundleWriter, kubeSecretStore } from "../../pkg/webhook/kube-certificate-store.ts";
import { STANDARD_POLICY, WebhookCertificates } from "../../pkg/webhook/webhook-certificates.ts";
import { WebhookServer } from "../../pkg/webhook/webhook-server.ts";
import type { OperatorFlags } from "./flags.ts";

const SERVICE = "valkey-operator";
const CONFIGURATION = "valkey-operator";
const SECRET = "valkey-operator-webhook";
/** The proxies of other nodes learn only a moment after it began that this replica ends, and send calls until then. */
const LINGER_MS = 3000;
const CLOSE_MS = 5000;

interface WebhookDeps {
  readonly log: Logger;
  readonly registry: Registry;
  readonly client: KubeClient;
  readonly defaults: Cache<ValkeyClusterDefaults>;
}

export function webhookService(
  flags: OperatorFlags,
  { log: parent, registry, client, defaults }: WebhookDeps,
): Service {
  const log = parent.child({ part: "webhooks" });
  const calls = registry.counter({
    name: "webhook_calls_total",
    help: "Admission calls.",
    labels: ["path", "outcome"],
  });
  const refused = registry.counter({ name: "webhook_tls_errors_total", help: "Failed handshakes.", labels: ["code"] });
  const api = apiCall(client.transport);
  const dns = [`${SERVICE}.${flags.namespace}.svc`, `${SERVICE}.${flags.namespace}.svc.cluster.local`];
  const certificates = new WebhookCertificates({
    secrets: kubeSecretStore(api, { namespace: flags.namespace, name: SECRET, labels: { [OWNED_LABEL]: OWNED_BY } }),
    bundles: kubeCaBundleWriter(api, { kind: "validatingwebhookconfigurations", name: CONFIGURATION }),
    policy: { ...STANDARD_POLICY, names: { dns } },
    log,
  });
  const layer = (namespace: string) => defaults.get({ namespace, name: DEFAULTS_NAME })?.spec;
  const resolve = (spec: ValkeyClusterSpec, namespace: string) =>
    resolveSpec(BUILT_IN_DEFAULTS, layer(flags.namespace), layer(namespace), spec);
  const may: FailoverDeps["may"] = async (question, end) => mayChange(client, question, end);
  const listening = Promise.withResolvers<void>();
  const run = async (signal: AbortSignal) => {
    const { certificate } = await certificates.refresh(signal);
    const server = await WebhookServer.listen({
      certificate,
      handlers: { "/validate-valkeycluster": async (request, end) => admitChange(request, { resolve, may }, end) },
      port: flags.webhookPort,
      log,
      onServed: ({ path, outcome }) => calls.inc({ path, outcome }),
      onTlsError: (code) => refused.inc({ code }),
    });
    listening.resolve();
    await certificates.run((next) => server.setCertificate(next), signal);
    await Bun.sleep(LINGER_MS);
    await server.close(AbortSignal.timeout(CLOSE_MS));
  };
  return { name: "webhooks", run, ready: () => listening.promise };
}

function apiCall(transport: KubeTransport): ApiCall {
  return async ({ contentType, ...request }) =>
    transport.send({ ...request, headers: { "content-type": contentType }, idempotent: request.method === "GET" });
}
