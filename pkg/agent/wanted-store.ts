/**
 * What the server shall be: the newest of what was pushed and what is mounted, for configuration and secrets each by
 * itself. What was pushed is kept on the pod's tmpfs: an agent that restarts does not fall back to an older mounted copy.
 */
import { create, type DescMessage, fromJsonString, type MessageShape, toJsonString } from "@bufbuild/protobuf";
import type { Logger } from "../log/log.ts";
import {
  type Configuration,
  ConfigurationSchema,
  type SecretMaterial,
  SecretMaterialSchema,
} from "../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type { AgentPaths } from "./agent-paths.ts";
import { readIfThere, writeWhole } from "./files.ts";
import type { Wanted } from "./server-control.ts";

export interface WantedOffer {
  readonly configuration?: Configuration | undefined;
  readonly secrets?: SecretMaterial | undefined;
}

export class WantedStore {
  readonly #paths: AgentPaths;
  readonly #log: Logger;
  readonly #texts = new Map<string, string>();
  #configuration: Configuration | undefined;
  #secrets: SecretMaterial | undefined;
  /** The same object until one of the two changes. */
  #current: Wanted | undefined;

  constructor(paths: AgentPaths, log: Logger) {
    this.#paths = paths;
    this.#log = log;
    this.#take({
      configuration: this.#read(ConfigurationSchema, paths.pushedConfiguration),
      secrets: this.#read(SecretMaterialSchema, paths.pushedSecrets),
    });
    this.readMounts();
  }

  /** Undefined until both are known: a server without the users that it should have would be open to everybody. */
  get current(): Wanted | undefined {
    return this.#current;
  }

  /** What is missing, for people. */
  get problem(): string | undefined {
    const { mountedConfiguration, mountedSecrets } = this.#paths;
    if (this.#configuration === undefined) return `no configuration in ${mountedConfiguration} and none was pushed`;
    if (this.#secrets === undefined) return `no secrets in ${mountedSecrets} and none were pushed`;
    return undefined;
  }

  /** Says whether anything changed. */
  readMounts(): boolean {
    return this.#take({
      configuration: this.#read(ConfigurationSchema, this.#paths.mountedConfiguration),
      secrets: this.#read(SecretMaterialSchema, this.#paths.mountedSecrets),
    });
  }

  /** Keeps what is newer; says whether anything was. */
  push(offer: WantedOffer): boolean {
    if (!this.#take(offer)) return false;
    const { pushedConfiguration, pushedSecrets } = this.#paths;
    if (this.#configuration !== undefined) {
      writeWhole(pushedConfiguration, toJsonString(ConfigurationSchema, this.#configuration));
    }
    if (this.#secrets !== undefined) writeWhole(pushedSecrets, toJsonString(SecretMaterialSchema, this.#secrets));
    return true;
  }

  #take({ configuration, secrets }: WantedOffer): boolean {
    const [oldConfiguration, oldSecrets] = [this.#configuration, this.#secrets];
    this.#configuration = newest(this.#configuration, configuration);
    this.#secrets = newest(this.#secrets, secrets);
    if (this.#configuration === oldConfiguration && this.#secrets === oldSecrets) return false;
    if (this.#configuration !== undefined && this.#secrets !== undefined) {
      this.#current = { configuration: this.#configuration, secrets: this.#secrets };
    }
    return true;
  }

  /** What cannot be read is told and left aside; never its content, which may be secret. */
  #read<S extends DescMessage>(schema: S, path: string): MessageShape<S> | undefined {
    try {
      const text = readIfThere(path);
      // Parsed once for each change: nothing new is in what was read before.
      if (text === undefined || text === this.#texts.get(path)) return undefined;
      this.#texts.set(path, text);
      // A newer operator may say more than this agent knows.
      return text.trim() === "" ? create(schema) : fromJsonString(schema, text, { ignoreUnknownFields: true });
    } catch {
      this.#log.error({ path, expected: schema.typeName }, "cannot read this file");
      return undefined;
    }
  }
}

function newest<T extends { readonly sequence: bigint }>(known: T | undefined, offered: T | undefined): T | undefined {
  if (known === undefined || offered === undefined) return known ?? offered;
  return offered.sequence > known.sequence ? offered : known;
}
