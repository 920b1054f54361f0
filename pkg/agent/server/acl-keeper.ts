/** Makes the users of a running server what is wanted, by its ACL file, and keeps them so. */
import type { SecretMaterial } from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import { adminLine, differingUsers, isOpenDefault, userOf, usersOf, withoutPasswords } from "../../valkey/acl.ts";
import type { ValkeyClient } from "../../valkey/client.ts";
import type { Login } from "../../valkey/connection.ts";
import { pairsOf, textsOf } from "../../valkey/replies.ts";
import { ReplyError } from "../../valkey/resp.ts";
import { writeWhole } from "../files.ts";
import type { MayRepair, SettingDrift } from "./settings-keeper.ts";
import { putBack, readBytes } from "./whole-file.ts";

/**
 * The file's content. The agent's own user is always in it, as the agent knows it: whatever else a file says, the agent
 * is not locked out of its server. A line that would be more than one is an error.
 */
export function aclFileContent(lines: readonly string[], agent: Login): string {
  const strange = lines.findIndex((line) => userOf(line) === undefined);
  if (strange !== -1) throw new Error(`line ${strange + 1} of the users is not of the form: user NAME rules`);
  const others = lines.filter((line) => userOf(line) !== agent.username);
  return [...others, adminLine(agent), ""].join("\n");
}

export type AclOutcome = "applied" | "needs-restart" | { readonly refused: string };

export interface AclKeeperOptions {
  readonly client: ValkeyClient;
  /** Where the server looks for its users. */
  readonly file: string;
  /** Who the agent is at its server. */
  readonly agent: Login;
}

/** What was loaded, and how the server writes it down. */
interface Loaded {
  readonly content: string;
  readonly users: ReadonlyMap<string, string>;
}

export class AclKeeper {
  readonly #options: AclKeeperOptions;
  #loaded: Loaded | undefined;

  constructor(options: AclKeeperOptions) {
    this.#options = options;
  }

  async apply({ aclLines }: SecretMaterial, signal: AbortSignal): Promise<AclOutcome> {
    const { file, live } = await this.#look(signal);
    // Whether a server has users at all is settled when it starts.
    if ((file === "") !== (aclLines.length === 0)) return "needs-restart";
    if (aclLines.length === 0) return "applied";
    const content = this.#content(aclLines);
    if (typeof content !== "string") return content;
    const inForce = this.#loaded?.content === content && differingUsers(this.#loaded.users, live).length === 0;
    return inForce ? "applied" : this.#load(content, signal);
  }

  /** Users that somebody else made, changed or deleted, and whether they are as they should be again. */
  async check(
    { aclLines }: SecretMaterial,
    mayRepair: MayRepair,
    signal: AbortSignal,
  ): Promise<readonly SettingDrift[]> {
    const { file, live } = await this.#look(signal);
    if ((file === "") !== (aclLines.length === 0)) return [];
    if (aclLines.length === 0) return this.#keepOpen(live, mayRepair, signal);
    // Nothing was loaded by this process yet: how the server writes these users down is not known.
    if (this.#loaded === undefined) return [];
    const names = differingUsers(this.#loaded.users, live);
    if (!names.some(mayRepair)) return names.map((name) => ({ name, repaired: false }));
    const repaired = (await this.#load(this.#loaded.content, signal)) === "applied";
    return names.map((name) => ({ name, repaired }));
  }

  #content(lines: readonly string[]): string | { readonly refused: string } {
    try {
      return aclFileContent(lines, this.#options.agent);
    } catch (error) {
      return { refused: error instanceof Error ? error.message : String(error) };
    }
  }

  async #look(signal: AbortSignal) {
    const commands = [
      ["CONFIG", "GET", "aclfile"],
      ["ACL", "LIST"],
    ];
    const [config, list] = await this.#options.client.pipeline(commands, { signal });
    const file = pairsOf("CONFIG GET", config).get("aclfile") ?? "";
    return { file, live: usersOf(textsOf("ACL LIST", list)) };
  }

  /** The server takes a file whole or not at all; one that it did not take must not be there when it starts again. */
  async #load(content: string, signal: AbortSignal): Promise<AclOutcome> {
    const { client, file } = this.#options;
    const before = readBytes(file);
    writeWhole(file, content);
    const commands = [
      ["ACL", "LOAD"],
      ["ACL", "LIST"],
    ];
    try {
      const [loaded, list] = await client.pipeline(commands, { signal });
      if (!(loaded instanceof ReplyError)) {
        this.#loaded = { content, users: usersOf(textsOf("ACL LIST", list)) };
        return "applied";
      }
      putBack(file, before);
      return { refused: withoutPasswords(loaded.message).replaceAll(`${file}:`, "line ") };
    } catch (error) {
      putBack(file, before);
      throw error;
    }
  }

  /** Without users of ours there is the open default one and no other. */
  async #keepOpen(
    live: ReadonlyMap<string, string>,
    mayRepair: MayRepair,
    signal: AbortSignal,
  ): Promise<readonly SettingDrift[]> {
    const drifts: SettingDrift[] = [];
    for (const [name, line] of live) {
      if (name === "default" && isOpenDefault(line)) continue;
      const mend =
        name === "default"
          ? ["ACL", "SETUSER", "default", "reset", "on", "nopass", "sanitize-payload", "~*", "&*", "+@all"]
          : ["ACL", "DELUSER", name];
      const [reply] = mayRepair(name) ? await this.#options.client.pipeline([mend], { signal }) : [undefined];
      drifts.push({ name, repaired: reply !== undefined && !(reply instanceof ReplyError) });
    }
    return drifts;
  }
}
