/** What can be said to the operator when it starts. */
import type { LogLevel } from "../../pkg/log/log.ts";

export interface OperatorFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** The operator's own namespace: its Lease, its Secrets. */
  readonly namespace: string;
  /** Of this replica. */
  readonly identity: string;
  readonly watchScope: "cluster" | "namespace";
  readonly healthPort: number;
  readonly webhookPort: number;
  /** Where agents report to. */
  readonly agentPort: number;
  /** Address of this replica, by which agents reach it when it leads. */
  readonly podIp?: string;
  /** Image of the agent for clusters that name none. */
  readonly sidecarImage: string;
  /** Where volumes of the secrets store CSI driver are mounted, a folder per name. */
  readonly secretsStorePath: string;
  readonly logLevel: LogLevel;
}
