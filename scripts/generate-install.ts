/**
 * Writes manifests/install.yaml (the operator for the whole cluster), manifests/install-namespaced.yaml (for its own
 * namespace, without webhooks and without a look at Nodes) and manifests/defaults.yaml (what the operator makes of its own
 * at its first start, for people who want it under version control).
 */
import { join } from "node:path";
import { GROUP, OWNED_BY, OWNED_LABEL, VERSION } from "../pkg/api/kind.ts";
import { firstCA, firstDefaults } from "../pkg/controllers/install/first-objects.ts";
import { release } from "./generate-api.ts";
import { deletionProtection } from "./generate-protection.ts";
import { clusterRoles, namespacedRoles } from "./generate-rbac.ts";
import { ROOT } from "./lib.ts";
import { yaml } from "./yaml.ts";

const NAMESPACE = "valkey-operator-system";
const NAME = "valkey-operator";
const HEALTH_PORT = 8081;
const WEBHOOK_PORT = 9443;
/** Agents report here. */
const AGENT_PORT = 8443;

const LABELS = { "app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": NAME, [OWNED_LABEL]: OWNED_BY };
const SELECTOR = { "app.kubernetes.io/name": NAME };

type Scope = "cluster" | "namespace";

function namespace() {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: NAMESPACE, labels: { ...LABELS, "pod-security.kubernetes.io/enforce": "restricted" } },
  };
}

function serviceAccount() {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: NAME, namespace: NAMESPACE, labels: LABELS } };
}

function service(scope: Scope) {
  const webhook = { name: "webhook", port: 443, targetPort: "webhook" };
  const agents = { name: "agents", port: AGENT_PORT, targetPort: "agents" };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: NAME, namespace: NAMESPACE, labels: LABELS },
    spec: { selector: SELECTOR, ports: scope === "cluster" ? [webhook, agents] : [agents] },
  };
}

function deployment(version: string, scope: Scope) {
  const probe = (path: string) => ({ httpGet: { path, port: "health" }, periodSeconds: 5, timeoutSeconds: 3 });
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: NAME, namespace: NAMESPACE, labels: LABELS },
    spec: {
      replicas: 2,
      selector: { matchLabels: SELECTOR },
      template: {
        metadata: { labels: LABELS },
        spec: {
          serviceAccountName: NAME,
          terminationGracePeriodSeconds: 30,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65_532,
            runAsGroup: 65_532,
            seccompProfile: { type: "RuntimeDefault" },
          },
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: "kubernetes.io/hostname",
              whenUnsatisfiable: "ScheduleAnyway",
              labelSelector: { matchLabels: SELECTOR },
            },
          ],
          containers: [
            {
              name: "operator",
              image: `localhost/valkey-operator:${version}`,
              imagePullPolicy: "IfNotPresent",
              env: [
                { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
                { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
                { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
                { name: "SIDECAR_IMAGE", value: `localhost/valkey-sidecar:${version}` },
                { name: "WATCH_SCOPE", value: scope },
              ],
              ports: [
                { name: "health", containerPort: HEALTH_PORT },
                { name: "agents", containerPort: AGENT_PORT },
                ...(scope === "cluster" ? [{ name: "webhook", containerPort: WEBHOOK_PORT }] : []),
              ],
              livenessProbe: { ...probe("/livez"), initialDelaySeconds: 10, failureThreshold: 6 },
              readinessProbe: probe("/readyz"),
              resources: { requests: { cpu: "200m", memory: "256Mi" }, limits: { memory: "1Gi" } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ["ALL"] },
              },
            },
          ],
        },
      },
    },
  };
}

function podDisruptionBudget() {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: NAME, namespace: NAMESPACE, labels: LABELS },
    spec: { maxUnavailable: 1, selector: { matchLabels: SELECTOR } },
  };
}

/**
 * Not part of install.yaml: their kinds do not exist before the operator has started once. It makes both when they are
 * missing.
 */
function firstObjects() {
  return [firstDefaults(NAMESPACE), firstCA(NAMESPACE)];
}

/**
 * The operator keeps its caBundle. It fails open: with the operator away the rules in the CRDs still hold, and what the
 * webhook adds is advice.
 */
function webhooks() {
  const clientConfig = { service: { name: NAME, namespace: NAMESPACE, path: "/validate-valkeycluster", port: 443 } };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: NAME, labels: LABELS },
    webhooks: [
      {
        name: "valkeyclusters.valkey.io",
        clientConfig,
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        failurePolicy: "Ignore",
        timeoutSeconds: 2,
        rules: [
          {
            apiGroups: [GROUP],
            apiVersions: [VERSION],
            operations: ["CREATE", "UPDATE", "DELETE"],
            resources: ["valkeyclusters"],
          },
        ],
      },
    ],
  };
}

function manifest(version: string, scope: Scope): string {
  const roles = scope === "cluster" ? clusterRoles : namespacedRoles;
  return yaml(
    namespace(),
    serviceAccount(),
    ...roles({ name: NAME, namespace: NAMESPACE, labels: LABELS }),
    service(scope),
    podDisruptionBudget(),
    ...(scope === "cluster" ? [webhooks(), ...deletionProtection(NAME, LABELS)] : []),
    deployment(version, scope),
  );
}

const header = (what: string) => `# Generated by \`npm run generate\`. Do not edit.\n# ${what}\n`;

export async function generateInstall(): Promise<void> {
  const version = await release();
  const write = (file: string, what: string, content: string) =>
    Bun.write(join(ROOT, "manifests", file), header(what) + content);
  await write(
    "install.yaml",
    "The operator for the whole cluster: kubectl apply -f install.yaml",
    manifest(version, "cluster"),
  );
  await write(
    "install-namespaced.yaml",
    "The operator for its own namespace, without webhooks: kubectl apply -f install-namespaced.yaml",
    manifest(version, "namespace"),
  );
  await write(
    "defaults.yaml",
    "What the operator makes at its first start, for people who keep it in git.",
    yaml(...firstObjects()),
  );
}
