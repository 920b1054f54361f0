/**
 * The one way our programs talk to each other: Connect over mutual TLS, the caller known by the URI in its certificate.
 * Server and client are compiled binaries.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { type Identity, makeAuthority, makeLeaf, writeIdentity } from "../lib/pki.ts";
import { Program } from "../lib/program.ts";
import { within } from "../lib/until.ts";
import { compiledProbe } from "./compiled-probe.ts";

const URI = "spiffe://db.example";
let folder: string;
let probe: string;
let root: Identity;
let issuer: Identity;
let server: Program;
let port: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "rpc-"));
  probe = await compiledProbe();
  root = await makeAuthority({ name: "root" });
  issuer = await makeAuthority({ name: "issuer", issuer: root, permitted: { uri: ["db.example"] } });
  await writeFile(join(folder, "ca.crt"), root.certPem);
  await writeIdentity(folder, "server", await serverLeaf());
  await writeIdentity(folder, "operator", await makeLeaf({ name: "o", issuer, uri: [`${URI}/operator`] }));
  await writeIdentity(folder, "agent", await makeLeaf({ name: "a", issuer, uri: [`${URI}/agent`] }));
  server = new Program([probe, "rpc-server", folder]);
  port = String(await server.message("port"));
}, 120_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function serverLeaf(): Promise<Identity> {
  return makeLeaf({ name: "server", issuer, ip: ["127.0.0.1"], uri: [`${URI}/server`] });
}

for (const http of ["2", "1.1"]) {
  describe(`over HTTP/${http}`, () => {
    test("calls, streams and deadlines work, and the server sees the caller's URI", async () => {
      const { out, code } = await Program.run([probe, "rpc-client", folder, "operator", port, http]);
      expect(code).toBe(0);
      const outcomes = out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown);
      expect(outcomes).toMatchObject([
        { unary: { http: http === "2" ? "2.0" : "1.1", seenAs: `${URI}/operator` } },
        { streaming: true },
        { stream: ["1", "2", "3"] },
        { deadline: { code: "DeadlineExceeded" } },
      ]);
      // The handler hears of the deadline too and stops working.
      await server.message("aborted");
    });

    test("a caller who may not ask is told PermissionDenied and why", async () => {
      const { out } = await Program.run([probe, "rpc-client", folder, "agent", port, http]);
      expect(out).toContain(`{"unary":{"code":"PermissionDenied","message":"${URI}/agent may not ask for this"}}`);
    });
  });
}

describe("refuses, before any handler runs and with the reason in its log,", () => {
  const refused = async (identity: Identity | undefined): Promise<string> => {
    const before = server.messages.length;
    expect(await ask(identity)).not.toContain("HTTP/1.1");
    const reason = String(await server.message("refused", before));
    expect(server.messages.slice(before).filter((message) => "request" in message)).toEqual([]);
    return reason;
  };

  test("a caller without a certificate", async () => {
    expect(await refused(undefined)).toMatch(/PEER_DID_NOT_RETURN_A_CERTIFICATE/i);
  });

  test("a certificate of another authority", async () => {
    const stranger = await makeAuthority({ name: "stranger" });
    const reason = await refused(await makeLeaf({ name: "x", issuer: stranger, uri: [`${URI}/operator`] }));
    expect(reason).toMatch(/UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY/);
  });

  test("an expired certificate", async () => {
    const expired = await makeLeaf({ name: "x", issuer, uri: [`${URI}/operator`], hours: -1 });
    expect(await refused(expired)).toMatch(/CERT_HAS_EXPIRED/);
  });

  test("a certificate for servers only", async () => {
    const wrongUse = await makeLeaf({ name: "x", issuer, uri: [`${URI}/operator`], usage: ["server"] });
    expect(await refused(wrongUse)).toMatch(/INVALID_PURPOSE/);
  });

  test("a certificate that names what its issuer may not name", async () => {
    const outside = await makeLeaf({ name: "x", issuer, uri: ["spiffe://elsewhere.example/operator"] });
    expect(await refused(outside)).toMatch(/PERMITTED_VIOLATION|permitted subtree/i);
  });
});

test("after a rotation of the authority an old caller is refused, also when it resumes a session, and a new one is served", async () => {
  const old = await makeLeaf({ name: "o", issuer, uri: [`${URI}/operator`] });
  const sessions: Buffer[] = [];
  expect(await ask(old, { sessions })).toContain("HTTP/1.1");
  expect(sessions.length).toBeGreaterThan(0);

  const oldRoot = root;
  root = await makeAuthority({ name: "root 2" });
  issuer = await makeAuthority({ name: "issuer 2", issuer: root });
  await writeFile(join(folder, "ca.crt"), root.certPem);
  await writeIdentity(folder, "server", await serverLeaf());
  server.say("rotate");
  await server.message("rotated");

  const both = `${oldRoot.certPem}${root.certPem}`;
  expect(await ask(old, { ca: both })).not.toContain("HTTP/1.1");
  expect(await ask(old, { ca: both, resume: sessions.at(-1) })).not.toContain("HTTP/1.1");
  expect(await ask(await makeLeaf({ name: "o", issuer, uri: [`${URI}/operator`] }))).toContain("HTTP/1.1");
});

test("SIGTERM lets a stream that is under way finish, then ends with 0", async () => {
  await using other = new Program([probe, "rpc-server", folder]);
  const ownPort = String(await other.message("port"));
  await writeIdentity(folder, "operator", await makeLeaf({ name: "o", issuer, uri: [`${URI}/operator`] }));
  await using client = new Program([probe, "rpc-client", folder, "operator", ownPort, "2"]);
  await client.message("streaming");
  other.signal("SIGTERM");
  expect(await client.message("stream")).toEqual(["1", "2", "3"]);
  await client.ending();
  expect(await other.ending()).toMatchObject({ code: 0, signal: null });
});

interface AskOptions {
  readonly ca?: string;
  /** Collects the tickets that the server hands out. */
  readonly sessions?: Buffer[];
  readonly resume?: Buffer | undefined;
}

/** What the server answers to a bare request, or why there was no answer. */
function ask(
  identity: Identity | undefined,
  { ca = root.certPem, sessions, resume }: AskOptions = {},
): Promise<string> {
  return within("an answer or a refusal", 5000, async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const own = identity === undefined ? {} : { cert: identity.chainPem, key: identity.keyPem };
    const session = resume === undefined ? {} : { session: resume };
    const socket: TLSSocket = connect({ host: "127.0.0.1", port: Number(port), ca, ...own, ...session });
    socket.on("session", (ticket: Buffer) => sessions?.push(ticket));
    socket.on("secureConnect", () => socket.write("GET / HTTP/1.1\r\nhost: probe\r\n\r\n"));
    socket.on("data", (piece) => resolve(piece.toString()));
    socket.on("error", (error) => resolve(error.message));
    socket.on("close", () => resolve("closed"));
    const answer = await promise;
    socket.destroy();
    return answer;
  });
}
