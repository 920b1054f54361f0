import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { SERVER_DEFAULTS } from "../../valkey/server-defaults.ts";
import type { RunningServer } from "./server-run.ts";
import { freshMemory, planSettings } from "./settings-plan.ts";
import type { WantedSetting } from "./wanted-settings.ts";

const running = (settings: Record<string, string>, version = "9.1.2"): RunningServer => ({
  runId: "r",
  version,
  loading: false,
  settings: new Map(Object.entries(settings)),
});
const want = (settings: Record<string, string>): ReadonlyMap<string, WantedSetting> =>
  new Map(Object.entries(settings).map(([name, value]) => [name, { name, value }]));

test("on a version whose defaults are not known, what the server was found with serves as default", () => {
  const memory = freshMemory();
  planSettings(want({ hz: "10" }), running({ hz: "10", timeout: "0" }, "12.0.0"), memory);
  const plan = planSettings(want({}), running({ hz: "20", timeout: "5" }, "12.0.0"), memory);
  expect(plan.changes).toEqual([{ name: "timeout", value: "0" }]);
  // It was wanted from the first moment on, so its default was never seen.
  expect(plan.needsRestart).toEqual(["hz"]);
});

test("what a server is placed by is left alone when nobody speaks of it", () => {
  const placed = {
    port: "6379",
    dir: "/data",
    "tls-cert-file": "/x",
    aclfile: "/y",
    "cluster-announce-ip": "10.0.0.1",
  };
  expect(planSettings(want({}), running(placed), freshMemory())).toEqual({
    changes: [],
    needsRestart: [],
    refusals: [],
  });
});

test("a plan that is carried out leaves nothing to do", () => {
  const name = fc.constantFrom(...Object.keys(SERVER_DEFAULTS).filter((name) => name !== "client-output-buffer-limit"));
  const settings = fc.dictionary(name, fc.constantFrom("1", "2", "yes", "no", "100mb"), { maxKeys: 8 });
  const property = fc.property(settings, settings, (wanted, changed) => {
    const memory = freshMemory();
    const live = { ...SERVER_DEFAULTS, ...changed };
    const { changes } = planSettings(want(wanted), running(live), memory);
    const after = { ...live, ...Object.fromEntries(changes.map(({ name, value }) => [name, value])) };
    expect(planSettings(want(wanted), running(after), memory).changes).toEqual([]);
  });
  fc.assert(property);
});
