/**
 * The settings that one node's server shall have: those of the deployment, what a server gets that nobody spoke of, and
 * what must hold whatever anybody says. The same list is written into the file that a server starts with, applied to one
 * that runs and compared with it later, so that none of these three can disagree.
 */
import { clone, create } from "@bufbuild/protobuf";
import { TIMING } from "../../plan/lease/timing.ts";
import {
  type Configuration,
  ConfigurationSchema,
  type Member,
  type Setting,
  SettingSchema,
} from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";

export interface NodeFacts {
  /** Name of the ValkeyNode. */
  readonly node: string;
  readonly podIp: string;
  /** Bytes; 0n for none. */
  readonly memoryLimit: bigint;
}

/**
 * The share of the container's memory that keys may fill. The rest is for what `maxmemory` does not count: copies on
 * write while a snapshot is made, buffers of clients and replicas, fragmentation. A pod that outgrows its limit is
 * killed, a server that reaches `maxmemory` evicts or refuses.
 */
const KEYS_PERCENT = 75n;
const MIB = 1024n * 1024n;

/** Settings as a later one wins, each name once. */
export function effectiveConfiguration(configuration: Configuration, facts: NodeFacts): Configuration {
  const lines = [...defaults(facts), ...configuration.settings, ...fixed(memberOf(configuration, facts.node), facts)];
  const byName = new Map<string, Setting>();
  for (const line of lines) {
    byName.delete(line.name);
    byName.set(line.name, line);
  }
  return { ...clone(ConfigurationSchema, configuration), settings: [...byName.values()] };
}

export function memberOf({ members }: Configuration, node: string): Member | undefined {
  return members.find(({ name }) => name === node);
}

/** What holds unless the deployment says otherwise. */
function defaults({ memoryLimit }: NodeFacts): readonly Setting[] {
  const maxmemory = maxMemory(memoryLimit);
  return maxmemory === 0n ? [] : [setting("maxmemory", String(maxmemory))];
}

/** Roles are moved by agents alone: gossip knows neither which copy is the newest nor who may write. */
function fixed(member: Member | undefined, { node, podIp }: NodeFacts): readonly Setting[] {
  const host = member?.announcedHost ?? "";
  return [
    setting("cluster-replica-no-failover", "yes"),
    setting("cluster-allow-replica-migration", "no"),
    // An election that was begun must be over when the promises for it are.
    setting("cluster-manual-failover-timeout", String(TIMING.failoverTimeoutMs)),
    // A replica knows within two seconds that its primary is cut off.
    setting("repl-ping-replica-period", "1"),
    setting("cluster-announce-ip", podIp),
    setting("replica-announce-ip", podIp),
    setting("cluster-announce-hostname", host),
    setting("cluster-announce-human-nodename", node),
    setting("cluster-preferred-endpoint-type", host === "" ? "ip" : "hostname"),
  ];
}

/** Whole mebibytes, so that people recognise it; 0n when there is no limit. */
export function maxMemory(limit: bigint): bigint {
  const share = (limit * KEYS_PERCENT) / 100n;
  return share < MIB ? share : (share / MIB) * MIB;
}

function setting(name: string, value: string): Setting {
  return create(SettingSchema, { name, value });
}
