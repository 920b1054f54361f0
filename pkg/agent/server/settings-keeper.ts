/** Makes the settings of a running server what is wanted, with as few commands as possible. */
import type { ValkeyClient } from "../../valkey/client.ts";
import { pairsOf } from "../../valkey/replies.ts";
import { ReplyError } from "../../valkey/resp.ts";
import { canonicalName, isSecretSetting, isSettingName } from "../../valkey/setting-names.ts";
import { sameSetting, settingArgument } from "../../valkey/setting-values.ts";
import { ValkeyError } from "../../valkey/valkey-error.ts";
import type { Wanted } from "../server-control.ts";
import { PerRun, type RunningServer, readRunning } from "./server-run.ts";
import { freshMemory, planSettings, type SettingsMemory } from "./settings-plan.ts";
import { type WantedSetting, wantedSettings } from "./wanted-settings.ts";

export interface SettingsOutcome {
  readonly changed: readonly string[];
  readonly needsRestart: readonly string[];
  readonly refusals: readonly { readonly name: string; readonly message: string }[];
}

/** Whether a difference should be mended this time. */
export type MayRepair = (name: string) => boolean;

export interface SettingDrift {
  readonly name: string;
  readonly repaired: boolean;
}

export class SettingsKeeper {
  readonly #client: ValkeyClient;
  readonly #memory = new PerRun(freshMemory);
  /** How the server was when it was last found as it should be, and what was wanted of it then. */
  #asWanted: { readonly wanted: Wanted; readonly running: RunningServer } | undefined;

  constructor(client: ValkeyClient) {
    this.#client = client;
  }

  /** Values that the server refused before are tried once more: what stood in their way may be gone. */
  async apply(wanted: Wanted, signal: AbortSignal): Promise<SettingsOutcome> {
    this.#asWanted = undefined;
    const { settings, running, memory } = await this.#look(wanted, signal);
    if (running.loading) {
      const message = "the server reads its data and would refuse what it takes later";
      throw new ValkeyError({ code: "loading", action: "apply the configuration", message });
    }
    for (const [key, { immutable }] of memory.denied) if (!immutable) memory.denied.delete(key);
    const plan = planSettings(settings, running, memory);
    const { changed, needsRestart, refusals } = await this.#set(plan.changes, memory, signal);
    return {
      changed,
      needsRestart: [...plan.needsRestart, ...needsRestart],
      refusals: [...plan.refusals, ...refusals],
    };
  }

  /**
   * Which settings somebody else has changed, and which of them were put back. What the server does not let us change is
   * no drift: it is known from applying.
   */
  async check(wanted: Wanted, mayRepair: MayRepair, signal: AbortSignal): Promise<readonly SettingDrift[]> {
    const { settings, running, memory } = await this.#look(wanted, signal);
    if (this.#asWanted?.wanted === wanted && sameServer(this.#asWanted.running, running)) return [];
    const { changes } = planSettings(settings, running, memory);
    this.#asWanted = changes.length === 0 ? { wanted, running } : undefined;
    const { changed } = await this.#set(
      changes.filter(({ name }) => mayRepair(name)),
      memory,
      signal,
    );
    return changes.map(({ name }) => ({ name, repaired: changed.includes(name) }));
  }

  async #look(wanted: Wanted, signal: AbortSignal) {
    const settings = wantedSettings(wanted);
    const names = [...settings.values()].map(({ name }) => name).filter(isSettingName);
    const running: RunningServer = await readRunning(this.#client, names, signal);
    return { settings, running, memory: this.#memory.of(running.runId) };
  }

  async #set(changes: readonly WantedSetting[], memory: SettingsMemory, signal: AbortSignal): Promise<SettingsOutcome> {
    if (changes.length === 0) return { changed: [], needsRestart: [], refusals: [] };
    const [reply] = await this.#client.pipeline([setCommand(changes)], { signal });
    // The server takes all or nothing of one command, and names only the first that it will not take.
    const replies =
      reply instanceof ReplyError && changes.length > 1
        ? await this.#client.pipeline(
            changes.map((change) => setCommand([change])),
            { signal },
          )
        : changes.map(() => reply);
    const changed: WantedSetting[] = [];
    const needsRestart: string[] = [];
    const refusals: { name: string; message: string }[] = [];
    for (const [index, change] of changes.entries()) {
      const answer = replies[index];
      if (!(answer instanceof ReplyError)) {
        changed.push(change);
        continue;
      }
      const denial = { value: change.value, immutable: isImmutable(answer), message: wordsOf(change, answer) };
      memory.denied.set(canonicalName(change.name), denial);
      if (denial.immutable) needsRestart.push(change.name);
      else refusals.push({ name: change.name, message: denial.message });
    }
    await this.#learn(changed, memory, signal);
    return { changed: changed.map(({ name }) => name), needsRestart, refusals };
  }

  async #learn(changed: readonly WantedSetting[], memory: SettingsMemory, signal: AbortSignal): Promise<void> {
    if (changed.length === 0) return;
    const names = changed.map(({ name }) => name);
    const shown = pairsOf("CONFIG GET", await this.#client.call(["CONFIG", "GET", ...names], { signal }));
    for (const { name, value } of changed) {
      const live = shown.get(name) ?? "";
      memory.denied.delete(canonicalName(name));
      if (!sameSetting(name, value, live)) memory.renditions.set(canonicalName(name), { value, live });
    }
  }
}

function sameServer(a: RunningServer, b: RunningServer): boolean {
  if (a.runId !== b.runId || a.settings.size !== b.settings.size) return false;
  for (const [name, value] of a.settings) if (b.settings.get(name) !== value) return false;
  return true;
}

function setCommand(changes: readonly WantedSetting[]): readonly string[] {
  return ["CONFIG", "SET", ...changes.flatMap(({ name, value }) => [name, settingArgument(name, value)])];
}

function isImmutable({ message }: ReplyError): boolean {
  return message.includes("can't set immutable config") || message.includes("can't set protected config");
}

/** The server quotes no values today; of a secret one nothing of its answer is passed on, whatever it says tomorrow. */
function wordsOf({ name }: WantedSetting, { message }: ReplyError): string {
  return isSecretSetting(name) ? "the server refused it" : message;
}
