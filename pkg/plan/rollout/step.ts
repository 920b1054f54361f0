/** What a rolling change asks of an agent: to give its place to a replica. */
export interface HandoverStep {
  readonly do: "handover";
  /** Name of the ValkeyNode whose agent is meant: the primary. */
  readonly node: string;
  readonly lane: string;
  readonly nodeId: string;
  /** Name of the ValkeyNode that is to lead; empty for the replica with the newest copy. */
  readonly successor: string;
  /** Of a failover that somebody asked for: its id. */
  readonly request: string | undefined;
}
