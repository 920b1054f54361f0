/** Everything about certificates, put together: roots, intermediates, identities, and what every replica has of them. */
import type { ValkeyCA } from "../../pkg/api/ca.ts";
import type { ValkeyCluster } from "../../pkg/api/cluster.ts";
import type { ValkeyClusterDefaults } from "../../pkg/api/cluster-defaults.ts";
import type { ValkeyClusterTls } from "../../pkg/api/cluster-tls.ts";
import type { ValkeyNode } from "../../pkg/api/node.ts";
import { caController } from "../../pkg/controllers/ca/ca-controller.ts";
import { ROOT_SECRETS } from "../../pkg/controllers/ca/root-part.ts";
import { Roots } from "../../pkg/controllers/ca/roots.ts";
import { SecretsStore } from "../../pkg/controllers/ca/secrets-store.ts";
import { bundleController } from "../../pkg/controllers/certificates/bundle-controller.ts";
import {
  CERTIFICATE_LABEL,
  CERTIFICATE_SECRETS,
  CERTIFICATE_SELECTOR,
  type CertificateSecret,
} from "../../pkg/controllers/certificates/certificate-secret.ts";
import { certificatesController } from "../../pkg/controllers/certificates/certificates-controller.ts";
import { ClusterSpecs } from "../../pkg/controllers/certificates/cluster-specs.ts";
import { type IdentityPusher, MOUNTS_ONLY } from "../../pkg/controllers/certificates/identity-pusher.ts";
import { operatorIdentityController } from "../../pkg/controllers/certificates/operator-controller.ts";
import { OperatorCredentials } from "../../pkg/controllers/certificates/operator-credentials.ts";
import { OperatorIdentity } from "../../pkg/controllers/certificates/operator-identity.ts";
import { ProcessSights } from "../../pkg/controllers/certificates/process-sights.ts";
import { rootUsers, rootUsersChanged } from "../../pkg/controllers/certificates/root-users.ts";
import { ServerCertificates } from "../../pkg/controllers/certificates/server-certificates.ts";
import { SERVER_SECRETS } from "../../pkg/controllers/certificates/server-secret.ts";
import { tlsController } from "../../pkg/controllers/certificates/tls-controller.ts";
import { VALKEY_BINDINGS, VALKEY_BUNDLES, VALKEY_TLS } from "../../pkg/controllers/resources.ts";
import type { Applier } from "../../pkg/kube/apply.ts";
import type { Cache } from "../../pkg/kube/cache.ts";
import type { KubeClient } from "../../pkg/kube/client.ts";
import type { ControllerDeps } from "../../pkg/kube/controller.ts";
import type { EventRecorder } from "../../pkg/kube/events.ts";
import type { Expectations } from "../../pkg/kube/expectations.ts";
import type { Service, Startable } from "../../pkg/kube/manager.ts";
import { CONFIG_MAPS, keyOf } from "../../pkg/kube/resource.ts";
import type { Logger } from "../../pkg/log/log.ts";
import type { Caches } from "./caches.ts";
import type { OperatorFlags } from "./flags.ts";
import { startable } from "./startable.ts";

export interface CertificateParts {
  readonly flags: OperatorFlags;
  readonly log: Logger;
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly applier: Applier;
  readonly recorder: EventRecorder;
  readonly expectations: Expectations;
  readonly cas: Cache<ValkeyCA>;
  readonly defaults: Cache<ValkeyClusterDefaults>;
  readonly clusters: Cache<ValkeyCluster>;
  readonly nodes: Cache<ValkeyNode>;
  /** Whoever talks to agents. Defaults to leaving it to kubelet. */
  readonly pusher?: IdentityPusher;
}

export interface Certificates {
  readonly controllers: readonly ((deps: ControllerDeps) => Startable)[];
  readonly services: readonly Service[];
  /** The operator's own, for its servers and its calls. */
  readonly identity: OperatorIdentity;
  /** Secrets with certificates of ours. */
  readonly secrets: Cache<CertificateSecret>;
  /** What the servers of clusters show to clients. */
  readonly servers: ServerCertificates;
  readonly tls: Cache<ValkeyClusterTls>;
}

export function assembleCertificates(parts: CertificateParts): Certificates {
  const { flags, log, client, caches, applier, recorder, expectations, cas, defaults, clusters, nodes } = parts;
  const { namespace } = flags;
  const bundles = caches.add(VALKEY_BUNDLES);
  const secrets = caches.add(CERTIFICATE_SECRETS, { labelSelector: CERTIFICATE_SELECTOR });
  const store = new SecretsStore({ path: flags.secretsStorePath });
  const roots = new Roots({ client, namespace, cas, secrets: caches.named(ROOT_SECRETS, "root Secrets"), store });
  const identity = new OperatorIdentity({ client, namespace, secrets, log });
  const credentials = new OperatorCredentials({ namespace, cas, roots, identity });
  const sights = new ProcessSights();
  nodes.subscribe(({ type, object }) => {
    if (type === "delete") sights.forget(keyOf(object));
  });
  const using = { namespace, cas, nodes, secrets, roots, sights };
  const ca = caController({
    client,
    applier,
    recorder,
    cas,
    roots,
    users: (one, root) => rootUsers(using, one, root),
    usersChanged: rootUsersChanged(using),
  });
  const specs = new ClusterSpecs(namespace, defaults);
  const tls = caches.add(VALKEY_TLS);
  const servers = new ServerCertificates({
    specs,
    clusters,
    tls,
    own: caches.add(SERVER_SECRETS, { labelSelector: `${CERTIFICATE_LABEL}=server` }),
    external: caches.named(SERVER_SECRETS, "Secrets of externalCerts"),
    parameters: caches.named(CONFIG_MAPS, "ConfigMaps of tlsDhParamsFile"),
  });
  const shared = { client, expectations, applier, recorder, namespace, bundles, secrets, roots, defaults };
  const bundle = bundleController(shared);
  const operator = operatorIdentityController(shared);
  const deployments = certificatesController({
    ...shared,
    specs,
    clusters,
    nodes,
    tls,
    bindings: caches.add(VALKEY_BINDINGS),
    sights,
    servers,
    tlsChanged: servers.source,
    pusher: parts.pusher ?? MOUNTS_ONLY,
    credentials: async (of, signal) => credentials.under(of, signal),
  });
  const ofTls = tlsController({ applier, tls, servers });
  return {
    controllers: [
      (deps) => startable(ca, deps),
      (deps) => startable(bundle, deps),
      (deps) => startable(operator, deps),
      (deps) => startable(deployments, deps),
      (deps) => startable(ofTls, deps),
    ],
    services: [
      { name: "secrets store", run: (signal) => store.run(signal) },
      { name: "operator identity", run: (signal) => identity.run(signal) },
    ],
    identity,
    secrets,
    servers,
    tls,
  };
}
