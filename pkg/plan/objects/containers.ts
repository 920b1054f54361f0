/** The containers of a pod: the agent, which is there before and after the server; the server; the exporter. */
import type { V1Container, V1EnvVar } from "@kubernetes/client-node";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import { versionOfTag } from "../rollout/version.ts";
import { bytesOf } from "./bytes.ts";
import { EXPORTER_PASSWORD_KEY, EXPORTER_USER_KEY, exporterSecretName, PARENT_KIND, PORTS } from "./names.ts";
import { CONTAINER_SECURITY } from "./security.ts";
import type { ClusterMeta, OperatorFacts } from "./types.ts";
import type { WirePorts } from "./wire.ts";

export interface ContainerInput {
  readonly cluster: ClusterMeta;
  readonly spec: ResolvedClusterSpec;
  readonly operator: OperatorFacts;
  readonly node: string;
  readonly image: string;
}

const RUN = { name: "run", mountPath: "/run/valkey" } as const;
const DATA = { name: "data", mountPath: "/data" } as const;
const BOOT_COPIES = ["config", "secrets", "identity"] as const;

/**
 * Measured: 28 MB at rest, up to 94 MB after 80,000 calls. The processor has no limit, so that a lease is renewed in time
 * also in a burst; what is requested keeps it from being starved by the server beside it.
 */
const AGENT_RESOURCES = { requests: { cpu: "50m", memory: "64Mi" }, limits: { memory: "192Mi" } };

const PROGRAM = "/usr/local/bin/valkey-sidecar";

export function agentContainer(input: ContainerInput): V1Container {
  return {
    name: "agent",
    image: input.image,
    command: [PROGRAM, "run"],
    restartPolicy: "Always",
    env: agentEnv(input),
    ports: [
      { name: "agent", containerPort: PORTS.agent, protocol: "TCP" },
      { name: "probes", containerPort: PORTS.probes, protocol: "TCP" },
    ],
    // The server's container starts after this has returned: with its gate made.
    lifecycle: { postStart: { exec: { command: [PROGRAM, "await-start"] } } },
    livenessProbe: { ...probe("/livez"), periodSeconds: 10, failureThreshold: 6 },
    resources: AGENT_RESOURCES,
    securityContext: containerSecurity(),
    volumeMounts: [
      RUN,
      DATA,
      ...BOOT_COPIES.map((name) => ({ name, mountPath: `/etc/valkey-agent/${name}`, readOnly: true })),
    ],
  };
}

function agentEnv({ cluster, spec, operator, node }: ContainerInput): V1EnvVar[] {
  const version = versionOfTag(spec.valkeyImage.tag);
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  return [
    { name: "NODE_NAME", value: node },
    field("POD_NAME", "metadata.name"),
    field("POD_NAMESPACE", "metadata.namespace"),
    field("POD_IP", "status.podIP"),
    { name: "PARENT_KIND", value: PARENT_KIND },
    { name: "PARENT_NAME", value: cluster.name },
    { name: "TRUST_DOMAIN", value: operator.trustDomain },
    { name: "OPERATOR_URL", value: operator.url },
    { name: "OPERATOR_NAMESPACE", value: operator.namespace },
    { name: "MEMORY_LIMIT", value: String(bytesOf(spec.resources.limits?.["memory"])) },
    ...(version === undefined ? [] : [{ name: "VALKEY_VERSION", value: version }]),
  ];
}

function probe(path: string) {
  return { httpGet: { path, port: PORTS.probes, scheme: "HTTP" }, timeoutSeconds: 3 };
}

/** No liveness probe: a dead agent must not take a healthy server down. */
export function valkeyContainer({ spec, image }: ContainerInput, wire: WirePorts): V1Container {
  const plain =
    wire.plainPort === 0 ? [] : [{ name: "valkey-plain", containerPort: wire.plainPort, protocol: "TCP" as const }];
  return {
    name: "valkey",
    image,
    command: ["valkey-server", "/run/valkey/valkey.conf"],
    ports: [
      { name: "valkey", containerPort: wire.port, protocol: "TCP" },
      { name: "bus", containerPort: wire.busPort, protocol: "TCP" },
      ...plain,
    ],
    readinessProbe: { ...probe("/readyz"), periodSeconds: 1, failureThreshold: 3 },
    // Works in an image without a shell, and reaches the agent of this pod alone.
    lifecycle: { preStop: { exec: { command: ["valkey-cli", "-s", "/run/valkey/agent.sock", "HANDOVER"] } } },
    resources: amounts(spec.resources),
    securityContext: containerSecurity(),
    volumeMounts: [RUN, DATA],
  };
}

const EXPORTER_RESOURCES = { requests: { cpu: "10m", memory: "32Mi" }, limits: { memory: "128Mi" } };

/** All that it needs of the run folder: beside it are users, keys and what agents were given. */
const SOCKET = { name: "run", mountPath: "/run/valkey/socket", subPath: "socket", readOnly: true } as const;

/** Over the unix socket, which speaks no TLS. It asks for no settings: with them it would read passwords. */
export function exporterContainer({ cluster, spec, image }: ContainerInput): V1Container {
  const { exporter, acl } = spec;
  const name = exporterSecretName(cluster.name);
  const from = (key: string) => ({ valueFrom: { secretKeyRef: { name, key } } });
  const login = [
    { name: "REDIS_USER", ...from(EXPORTER_USER_KEY) },
    { name: "REDIS_PASSWORD", ...from(EXPORTER_PASSWORD_KEY) },
  ];
  return {
    name: "exporter",
    image,
    args: [
      "-redis.addr=unix:///run/valkey/socket/valkey.sock",
      "-config-command=-",
      `-web.listen-address=:${exporter.port}`,
    ],
    ...(acl === undefined ? {} : { env: login }),
    ports: [{ name: "metrics", containerPort: exporter.port, protocol: "TCP" }],
    resources: isEmpty(exporter.resources) ? EXPORTER_RESOURCES : amounts(exporter.resources),
    securityContext: { ...containerSecurity(), ...anotherUser(spec.securityContext) },
    volumeMounts: [SOCKET],
  };
}

/**
 * In one process namespace whoever is the same user sees the other containers' files through /proc. Another user reaches
 * the socket by the pod's group; without one it could not.
 */
function anotherUser({ runAsUser, runAsGroup, fsGroup }: ResolvedClusterSpec["securityContext"]) {
  if (runAsUser === undefined || (runAsGroup === undefined && fsGroup === undefined)) return {};
  return { runAsUser: runAsUser + 1 };
}

type Resources = ResolvedClusterSpec["resources"];

function isEmpty({ requests = {}, limits = {} }: Resources): boolean {
  return Object.keys(requests).length === 0 && Object.keys(limits).length === 0;
}

/** Whole numbers may be given without quotes; a pod's quantities are texts. */
function amounts({ requests, limits }: Resources) {
  const texts = (of: NonNullable<Resources["limits"]>) =>
    Object.fromEntries(Object.entries(of).map(([name, amount]) => [name, String(amount)]));
  return {
    ...(requests === undefined ? {} : { requests: texts(requests) }),
    ...(limits === undefined ? {} : { limits: texts(limits) }),
  };
}

function containerSecurity() {
  return { ...CONTAINER_SECURITY, capabilities: { drop: [...CONTAINER_SECURITY.capabilities.drop] } };
}
