/** How clients, nodes and scrapers find the pods of a cluster. */
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import { metaOf, type Owner, objectOf } from "./meta.ts";
import {
  clusterSelector,
  headlessServiceName,
  metricsServiceName,
  PORTS,
  ROLE_LABEL,
  readServiceName,
} from "./names.ts";
import type { DesiredObject } from "./types.ts";
import type { WirePorts } from "./wire.ts";

const TYPE = { apiVersion: "v1", kind: "Service" } as const;

export interface NamedPort {
  readonly name: string;
  readonly port: number;
}

export function clientPorts({ port, plainPort }: WirePorts): NamedPort[] {
  return [{ name: "valkey", port }, ...(plainPort === 0 ? [] : [{ name: "valkey-plain", port: plainPort }])];
}

/** What a node is reached by: clients, the other nodes, the agents. */
export function nodePorts(wire: WirePorts): NamedPort[] {
  return [...clientPorts(wire), { name: "bus", port: wire.busPort }, { name: "agent", port: PORTS.agent }];
}

export function servicesOf(owner: Owner, spec: ResolvedClusterSpec, wire: WirePorts): DesiredObject[] {
  const { name } = owner.cluster;
  const selector = clusterSelector(name);
  return [
    service(
      owner,
      { name, annotations: spec.service.annotations },
      {
        type: spec.service.type,
        selector,
        ports: toPorts(clientPorts(wire)),
      },
    ),
    // A node is found by its name before it is ready: that is when its neighbours need it most.
    service(
      owner,
      { name: headlessServiceName(name) },
      {
        clusterIP: "None",
        publishNotReadyAddresses: true,
        selector,
        ports: toPorts(nodePorts(wire)),
      },
    ),
    ...(spec.readService.enabled ? [readService(owner, wire)] : []),
    ...(spec.exporter.enabled ? [metricsService(owner, spec.exporter.port)] : []),
  ];
}

/** Replicas only: the label follows the role that a pod's agent reports. */
function readService(owner: Owner, wire: WirePorts): DesiredObject {
  const { name } = owner.cluster;
  const selector = { ...clusterSelector(name), [ROLE_LABEL]: "replica" };
  return service(
    owner,
    { name: readServiceName(name) },
    { type: "ClusterIP", selector, ports: toPorts(clientPorts(wire)) },
  );
}

/** Every pod is scraped, also one that is not ready: that is the one people look for. */
function metricsService(owner: Owner, port: number): DesiredObject {
  const { name } = owner.cluster;
  const annotations = { "prometheus.io/scrape": "true", "prometheus.io/port": String(port) };
  return service(
    owner,
    { name: metricsServiceName(name), annotations },
    {
      clusterIP: "None",
      publishNotReadyAddresses: true,
      selector: clusterSelector(name),
      ports: toPorts([{ name: "metrics", port }]),
    },
  );
}

function service(owner: Owner, named: Parameters<typeof metaOf>[1], spec: object): DesiredObject {
  return objectOf(TYPE, metaOf(owner, named), { spec });
}

export function toPorts(ports: readonly NamedPort[]) {
  return ports.map(({ name, port }) => ({ name, port, targetPort: port, protocol: "TCP" }));
}
