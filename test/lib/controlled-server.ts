/** A real server with the control that an agent has over it, for tests of that control. */
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type ServerControlOptions, valkeyServerControl } from "../../pkg/agent/server/valkey-server-control.ts";
import type { ServerControl, Wanted } from "../../pkg/agent/server-control.ts";
import {
  ConfigurationSchema,
  SecretMaterialSchema,
  WireSchema,
} from "../../pkg/rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type { Reply } from "../../pkg/valkey/resp.ts";
import { type ServerOptions, ValkeyServer } from "./valkey-server.ts";

export const AGENT = { username: "valkey-agent", password: "agent-password" };

export class ControlledServer implements AsyncDisposable {
  readonly server: ValkeyServer;
  readonly control: ServerControl;

  static async start(options: ServerOptions, control: Partial<ServerControlOptions> = {}): Promise<ControlledServer> {
    const config = [["unixsocket", "valkey.sock"] as const, ...(options.config ?? [])];
    return new ControlledServer(await ValkeyServer.start({ ...options, config }), control);
  }

  /** A node of a cluster that knows nobody yet. */
  static node(options: ServerOptions, control: Partial<ServerControlOptions> = {}): Promise<ControlledServer> {
    const config = [
      ["cluster-enabled", "yes"] as const,
      ["cluster-node-timeout", "1000"] as const,
      ["cluster-allow-replica-migration", "no"] as const,
      ["cluster-replica-no-failover", "yes"] as const,
      ...(options.config ?? []),
    ];
    return ControlledServer.start({ ...options, config }, control);
  }

  private constructor(server: ValkeyServer, options: Partial<ServerControlOptions>) {
    this.server = server;
    this.control = valkeyServerControl({
      socketPath: join(server.dir, "valkey.sock"),
      credentials: AGENT,
      aclFile: join(server.dir, "users.acl"),
      tlsDir: join(server.dir, "tls"),
      ...options,
    });
  }

  send(...args: string[]): Promise<Reply> {
    return this.server.send(...args);
  }

  async id(): Promise<string> {
    return String(await this.send("CLUSTER", "MYID"));
  }

  async configured(name: string): Promise<string> {
    const reply = await this.send("CONFIG", "GET", name);
    return Array.isArray(reply) ? String(reply[1]) : "";
  }

  async endpoint() {
    return { ip: "127.0.0.1", port: this.server.address.port, busPort: Number(await this.configured("cluster-port")) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.control.close();
    await this.server[Symbol.asyncDispose]();
  }
}

/** What is wanted, with settings as name and value. */
export function wanted(
  settings: readonly (readonly [string, string])[],
  secrets: MessageInitShape<typeof SecretMaterialSchema> = {},
  wire?: MessageInitShape<typeof WireSchema>,
): Wanted {
  return {
    configuration: create(ConfigurationSchema, {
      hash: "configuration-1",
      settings: settings.map(([name, value]) => ({ name, value })),
      ...(wire === undefined ? {} : { wire }),
    }),
    secrets: create(SecretMaterialSchema, { hash: "secrets-1", ...secrets }),
  };
}
