import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { pino } from "pino";
import { IdentitySchema } from "../rpc/gen/valkey/agent/v1/agent_pb.ts";
import type { TlsIdentity } from "../rpc/identity.ts";
import { HOUR_MS, NODE, PEER, TestAuthority } from "../rpc/test-peers.ts";
import { AgentIdentity } from "./agent-identity.ts";
import { type AgentPaths, agentPaths } from "./agent-paths.ts";

let folder: string;
let paths: AgentPaths;
let authority: TestAuthority;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "identity-"));
  paths = agentPaths({ run: join(folder, "run"), data: join(folder, "data"), mounts: join(folder, "mounts") });
  authority = await TestAuthority.make();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const log = pino({ level: "silent" });

async function mount({ certificate, key, authorities }: TlsIdentity, sequence?: string): Promise<void> {
  await mkdir(paths.mountedIdentity, { recursive: true });
  const files = { "tls.crt": certificate, "tls.key": key, "ca.crt": authorities };
  for (const [name, content] of Object.entries(files)) await writeFile(join(paths.mountedIdentity, name), content);
  if (sequence !== undefined) await writeFile(join(paths.mountedIdentity, "sequence"), sequence);
}

function pushed({ certificate, key, authorities }: TlsIdentity, sequence: bigint) {
  const bytes = (text: string) => new Uint8Array(Buffer.from(text));
  return create(IdentitySchema, {
    sequence,
    certificate: bytes(certificate),
    key: bytes(key),
    authorities: bytes(authorities),
  });
}

test("without a usable identity it says for whom and why", async () => {
  expect(() => new AgentIdentity(paths, NODE, log)).toThrow("no identity for spiffe://");
  await mount(await authority.identity(PEER));
  expect(() => new AgentIdentity(paths, NODE, log)).toThrow("the certificate is of spiffe://");
});

test("the newest is used, whether it was pushed or mounted, and tells those who listen", async () => {
  await mount(await authority.identity(NODE), "3");
  const identity = new AgentIdentity(paths, NODE, log);
  let changes = 0;
  identity.source.subscribe(() => (changes += 1));
  const second = await authority.identity(NODE);
  identity.push(pushed(second, 5n));
  expect(identity.source.current().certificate).toBe(second.certificate);
  identity.push(pushed(await authority.identity(NODE), 4n));
  expect(identity.source.current().certificate).toBe(second.certificate);
  const third = await authority.identity(NODE);
  await mount(third, "6\n");
  identity.readMount();
  expect(identity.source.current().certificate).toBe(third.certificate);
  expect(changes).toBe(2);
  identity.readMount();
  expect(changes).toBe(2);
});

test("what was pushed outlives the agent", async () => {
  await mount(await authority.identity(NODE));
  const newer = await authority.identity(NODE);
  new AgentIdentity(paths, NODE, log).push(pushed(newer, 2n));
  expect(new AgentIdentity(paths, NODE, log).source.current().certificate).toBe(newer.certificate);
});

test("one of another node, with another key or at its end is refused, and the good one stays", async () => {
  await mount(await authority.identity(NODE), "1");
  const identity = new AgentIdentity(paths, NODE, log);
  const before = identity.thumbprint;
  const other = await authority.identity(PEER);
  const mixed = { ...(await authority.identity(NODE)), key: other.key };
  const over = await authority.identity(NODE, { now: new Date(Date.now() - 3 * HOUR_MS), lifetimeMs: HOUR_MS });
  expect(() => identity.push(pushed(other, 9n))).toThrow("not of spiffe://");
  expect(() => identity.push(pushed(mixed, 9n))).toThrow("does not fit its key");
  expect(() => identity.push(pushed(over, 9n))).toThrow("ended on");
  await mount(mixed, "9");
  identity.readMount();
  expect(identity.thumbprint).toBe(before);
});
