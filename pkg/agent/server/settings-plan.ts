/** Decides which settings of a running server have to change. Pure: what is wanted, what runs and what is remembered. */
import { MOST_CLIENTS, makesServerStandStill } from "../../api/valkey-config.ts";
import { serverDefault } from "../../valkey/server-defaults.ts";
import { canonicalName, isSettingName } from "../../valkey/setting-names.ts";
import { sameSetting } from "../../valkey/setting-values.ts";
import type { RunningServer } from "./server-run.ts";
import { hasDefault, type WantedSetting } from "./wanted-settings.ts";

/** What one run of a server has taught us, by canonical name. */
export interface SettingsMemory {
  /** As the server was when it was first looked at: the default of whatever was not wanted then. */
  first: ReadonlyMap<string, string> | undefined;
  /** All that was ever wanted of this run. */
  readonly everWanted: Set<string>;
  /** How the server writes a value down that it took: it may round, or know another word for it. */
  readonly renditions: Map<string, { readonly value: string; readonly live: string }>;
  /** Values that the server will not take. */
  readonly denied: Map<string, Denial>;
  /** Lines that only a file can hold, as they were when the run was first looked at. */
  readonly fileOnly: Map<string, string>;
}

export interface Denial {
  readonly value: string;
  /** Only a restart helps. */
  readonly immutable: boolean;
  readonly message: string;
}

export function freshMemory(): SettingsMemory {
  return { first: undefined, everWanted: new Set(), renditions: new Map(), denied: new Map(), fileOnly: new Map() };
}

export interface SettingsPlan {
  /** In the order in which they were wanted. */
  readonly changes: readonly WantedSetting[];
  /** Known beforehand to need a restart, so not tried. */
  readonly needsRestart: readonly string[];
  /** Known beforehand to be refused. */
  readonly refusals: readonly { readonly name: string; readonly message: string }[];
}

/** Lines of valkey.conf that are no settings: the server neither shows nor changes them while it runs. */
const FILE_ONLY: ReadonlySet<string> = new Set(["include", "loadmodule", "rename-command", "user"]);

type Verdict = "same" | "change" | "needs-restart" | { readonly refused: string };

export function planSettings(
  wanted: ReadonlyMap<string, WantedSetting>,
  running: RunningServer,
  memory: SettingsMemory,
): SettingsPlan {
  remember(wanted, running, memory);
  const changes: WantedSetting[] = [];
  const needsRestart: string[] = [];
  const refusals: { name: string; message: string }[] = [];
  const judged = [...wanted.values()].map((setting) => [setting, judge(setting, running, memory)] as const);
  for (const [setting, verdict] of [...judged, ...unwanted(wanted, running, memory)]) {
    if (verdict === "change") changes.push(setting);
    else if (verdict === "needs-restart") needsRestart.push(setting.name);
    else if (verdict !== "same") refusals.push({ name: setting.name, message: verdict.refused });
  }
  return { changes, needsRestart, refusals };
}

function remember(wanted: ReadonlyMap<string, WantedSetting>, running: RunningServer, memory: SettingsMemory): void {
  if (memory.first === undefined) {
    const first = new Map(running.settings);
    for (const name of first.keys()) if (wanted.has(canonicalName(name))) first.delete(name);
    memory.first = first;
    for (const { name, value } of wanted.values()) if (FILE_ONLY.has(name)) memory.fileOnly.set(name, value);
  }
  for (const name of wanted.keys()) memory.everWanted.add(name);
}

function judge({ name, value }: WantedSetting, running: RunningServer, memory: SettingsMemory): Verdict {
  if (FILE_ONLY.has(name)) return memory.fileOnly.get(name) === value ? "same" : "needs-restart";
  const wrong = whyNotEvenTried(name, value);
  if (wrong !== undefined) return { refused: wrong };
  if (isInForce({ name, value }, running, memory)) return "same";
  const denial = memory.denied.get(canonicalName(name));
  if (denial === undefined || denial.value !== value) return "change";
  return denial.immutable ? "needs-restart" : { refused: denial.message };
}

function whyNotEvenTried(name: string, value: string): string | undefined {
  if (!isSettingName(name)) return "this cannot be the name of a setting";
  if (!makesServerStandStill(name, value)) return undefined;
  return `more than ${MOST_CLIENTS} would make the server stand still while it looks for what the machine allows`;
}

function isInForce({ name, value }: WantedSetting, running: RunningServer, memory: SettingsMemory): boolean {
  const live = running.settings.get(name);
  if (live === undefined) return false;
  const rendition = memory.renditions.get(canonicalName(name));
  return sameSetting(name, value, live) || (rendition?.value === value && rendition.live === live);
}

/** What nobody wants goes back to its default, whether it was wanted once or somebody set it by hand. */
function unwanted(
  wanted: ReadonlyMap<string, WantedSetting>,
  running: RunningServer,
  memory: SettingsMemory,
): readonly (readonly [WantedSetting, Verdict])[] {
  const verdicts: (readonly [WantedSetting, Verdict])[] = [];
  for (const name of running.settings.keys()) {
    if (canonicalName(name) !== name || wanted.has(name) || !hasDefault(name)) continue;
    const value = serverDefault(name, running.version) ?? memory.first?.get(name);
    const setting = { name, value: value ?? "" };
    if (value !== undefined) verdicts.push([setting, judge(setting, running, memory)]);
    else if (memory.everWanted.has(name)) verdicts.push([setting, "needs-restart"]);
  }
  return verdicts;
}
