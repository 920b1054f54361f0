import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { create, toJsonString } from "@bufbuild/protobuf";
import { pino } from "pino";
import { ConfigurationSchema, SecretMaterialSchema } from "../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import { type AgentPaths, agentPaths } from "./agent-paths.ts";
import { WantedStore } from "./wanted-store.ts";

let folder: string;
let paths: AgentPaths;
let said: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "wanted-"));
  paths = agentPaths({ run: join(folder, "run"), data: join(folder, "data"), mounts: join(folder, "mounts") });
  said = "";
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const log = pino({}, { write: (line) => (said += line) });
const configuration = (sequence: bigint) => create(ConfigurationSchema, { sequence, hash: `hash ${sequence}` });
const secrets = (sequence: bigint) => create(SecretMaterialSchema, { sequence, hash: `hash ${sequence}` });

async function mount(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

async function mountBoth(sequence: bigint): Promise<void> {
  await mount(paths.mountedConfiguration, toJsonString(ConfigurationSchema, configuration(sequence)));
  await mount(paths.mountedSecrets, toJsonString(SecretMaterialSchema, secrets(sequence)));
}

test("nothing is wanted before both are known, and it is said what is missing", async () => {
  const store = new WantedStore(paths, log);
  expect(store.current).toBeUndefined();
  expect(store.problem).toContain("no configuration in");
  store.push({ configuration: configuration(1n) });
  expect(store.current).toBeUndefined();
  expect(store.problem).toContain("no secrets in");
  store.push({ secrets: secrets(1n) });
  expect(store.current?.secrets.sequence).toBe(1n);
  expect(store.problem).toBeUndefined();
});

test("the newest wins, each by itself, however it came and also after a restart", async () => {
  await mountBoth(5n);
  const store = new WantedStore(paths, log);
  expect(store.push({ configuration: configuration(4n) })).toBe(false);
  expect(store.push({ configuration: configuration(7n) })).toBe(true);
  expect(store.current).toMatchObject({ configuration: { sequence: 7n }, secrets: { sequence: 5n } });
  const again = new WantedStore(paths, log);
  expect(again.current?.configuration.sequence).toBe(7n);
  expect(again.readMounts()).toBe(false);
  await mountBoth(9n);
  expect(again.readMounts()).toBe(true);
  expect(again.current).toMatchObject({ configuration: { sequence: 9n }, secrets: { sequence: 9n } });
});

test("what was pushed is for its owner alone", async () => {
  const store = new WantedStore(paths, log);
  store.push({ secrets: secrets(1n), configuration: configuration(1n) });
  expect((await stat(paths.pushedSecrets)).mode & 0o777).toBe(0o600);
});

test("a file that cannot be read is named without its content; one of a newer release is read", async () => {
  await mount(paths.mountedSecrets, '{"aclLines": ["user app on >hunter2"');
  await mount(paths.mountedConfiguration, '{"sequence": "3", "somethingNew": true}');
  const store = new WantedStore(paths, log);
  expect(store.problem).toContain("no secrets");
  expect(said).toContain(paths.mountedSecrets);
  expect(said).not.toContain("hunter2");
  store.push({ secrets: secrets(1n) });
  expect(store.current?.configuration.sequence).toBe(3n);
});
