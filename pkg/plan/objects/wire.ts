/** How the servers of a cluster listen, from the ValkeyClusterTls that it names, if it does. */
import type { ValkeyClusterTlsSpec } from "../../api/cluster-tls.ts";
import { BUS_OFFSET, PORTS } from "./names.ts";

export interface WirePorts {
  /** For clients; with TLS, the TLS port. */
  readonly port: number;
  readonly busPort: number;
  /** Without TLS beside it; 0 for none. */
  readonly plainPort: number;
}

export interface WireFields extends WirePorts {
  readonly tls: boolean;
  readonly tlsCluster: boolean;
  readonly tlsReplication: boolean;
  readonly tlsAuthClients: "yes" | "optional" | "no";
  readonly tlsProtocols: string;
  readonly tlsCiphers: string;
}

const PLAIN: WireFields = {
  port: PORTS.client,
  busPort: PORTS.bus,
  plainPort: 0,
  tls: false,
  tlsCluster: false,
  tlsReplication: false,
  tlsAuthClients: "no",
  tlsProtocols: "",
  tlsCiphers: "",
};

export function wireOf(tls: ValkeyClusterTlsSpec | undefined): WireFields {
  if (tls === undefined) return PLAIN;
  const plainPort = tls.disableNonTlsPort ? 0 : PORTS.client;
  return {
    port: tls.tlsPort,
    busPort: tls.tlsPort + BUS_OFFSET,
    plainPort,
    tls: true,
    tlsCluster: tls.tlsCluster,
    // Without a port in clear there is nothing else that a replica could connect to.
    tlsReplication: tls.tlsReplication || plainPort === 0,
    tlsAuthClients: authClients(tls.tlsAuthClients),
    tlsProtocols: tls.tlsProtocols,
    tlsCiphers: tls.tlsCiphers ?? "",
  };
}

function authClients(given: ValkeyClusterTlsSpec["tlsAuthClients"]): WireFields["tlsAuthClients"] {
  if (given === "optional") return "optional";
  return given ? "yes" : "no";
}
