/**
 * Real Valkey servers on loopback, for tests. Each lives in a folder of its own, is owned by whoever started it, and
 * dies with the test process, even when that is killed.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Subprocess } from "bun";
import type { Reply } from "../../pkg/valkey/resp.ts";
import { command, ensureValkey, type ValkeyVersion } from "../lab/valkey.ts";
import { type Address, Connection, type Credentials } from "./resp/connection.ts";
import { until, within } from "./until.ts";

export interface ServerOptions {
  readonly version: ValkeyVersion;
  /** Paths of PEM files; with them the server speaks TLS only and wants a client certificate. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string };
  /** How tests and `send` log in. Defaults to the default user without a password, in clear. */
  readonly credentials?: Credentials;
  /** Lines of an ACL file, such as "user app on >secret ~* +@all". */
  readonly acl?: readonly string[];
  /** Further directives of valkey.conf, such as ["cluster-enabled", "yes"]. */
  readonly config?: readonly (readonly [string, string])[];
}

type Process = Subprocess<"ignore", "pipe", "pipe">;

export class ValkeyServer implements AsyncDisposable {
  readonly options: ServerOptions;
  readonly address: Address;
  readonly dir: string;
  readonly #command: readonly string[];
  #process: Process | undefined;
  #log = "";
  #logged: Promise<unknown> = Promise.resolve();

  /** Starts a server on a free port of 127.0.0.1 and waits until it answers. */
  static async start(options: ServerOptions): Promise<ValkeyServer> {
    for (let turn = 1; ; turn++) {
      const server = await ValkeyServer.prepare(options);
      try {
        await server.launch();
        return server;
      } catch (error) {
        await server[Symbol.asyncDispose]();
        // Somebody else on this machine was given the port between our looking and the server's listening.
        if (turn === 3 || !server.log.includes("Address already in use")) throw error;
      }
    }
  }

  /** Writes the configuration without starting anything, for tests that change it first. */
  static async prepare(options: ServerOptions): Promise<ValkeyServer> {
    const { root } = await ensureValkey(options.version);
    const dir = await mkdtemp(join(tmpdir(), "valkey-test-"));
    const server = new ValkeyServer(options, { port: await freePort(), dir, root });
    await writeFile(join(dir, "valkey.conf"), await server.#configuration());
    if (options.acl !== undefined) await writeFile(join(dir, "users.acl"), `${options.acl.join("\n")}\n`);
    return server;
  }

  private constructor(options: ServerOptions, at: { port: number; dir: string; root: string }) {
    this.options = options;
    this.address = { host: "127.0.0.1", port: at.port };
    this.dir = at.dir;
    this.#command = [...command(at.root, "valkey-server"), join(at.dir, "valkey.conf")];
  }

  get pid(): number {
    if (this.#process === undefined) throw new Error(`the server on port ${this.address.port} does not run`);
    return this.#process.pid;
  }

  get log(): string {
    return this.#log;
  }

  /** Starts the process and waits until it answers; also starts it again after kill or stop. */
  async launch(): Promise<void> {
    this.spawn();
    const process = this.#process;
    await until(`valkey-server on port ${this.address.port}`, async () => {
      if (process?.exitCode !== null) return true;
      const reply = await this.send("PING");
      return reply === "PONG";
    });
    if (process === undefined || process.exitCode === null) return;
    await this.#logged;
    throw new Error(`valkey-server ended with ${process.exitCode}:\n${this.#log}`);
  }

  /** Starts the process without waiting for anything. */
  spawn(): void {
    // The kernel ends the server when the test process dies, however it dies.
    const leash = Bun.which("setpriv") === null ? [] : ["setpriv", "--pdeathsig", "KILL"];
    const process = Bun.spawn([...leash, ...this.#command], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    this.#process = process;
    this.#logged = Promise.all([this.#collect(process.stdout), this.#collect(process.stderr)]);
  }

  /** A connection of the caller's own; the caller closes it. */
  connect(credentials: Credentials = this.options.credentials ?? {}): Promise<Connection> {
    return Connection.open({ at: this.address, ...credentials });
  }

  /** One command over a connection of its own; an error reply is thrown. */
  async send(...args: string[]): Promise<Reply> {
    const connection = await this.connect();
    try {
      return await within(`${args.join(" ")} on port ${this.address.port}`, 5000, () => connection.call(...args));
    } finally {
      connection.close();
    }
  }

  /** As if its machine lost power: no time to save or to say goodbye. */
  async kill(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#process?.exited;
  }

  /** Stops it as a kubelet would: SIGTERM, and SIGKILL when it does not end in time. */
  async stop(): Promise<void> {
    const process = this.#process;
    if (process === undefined || process.exitCode !== null) return;
    process.kill("SIGTERM");
    const timer = setTimeout(() => process.kill("SIGKILL"), 5000);
    await process.exited;
    clearTimeout(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.dir, { recursive: true, force: true });
  }

  async #configuration(): Promise<string> {
    const { tls, acl, config = [] } = this.options;
    const port = String(this.address.port);
    const ports: [string, string][] =
      tls === undefined ? [["port", port]] : [...tlsDirectives(tls), ["tls-port", port]];
    const lines: (readonly [string, string])[] = [
      ["bind", "127.0.0.1"],
      ["dir", this.dir],
      ["save", '""'],
      ["appendonly", "no"],
      ["repl-diskless-sync-delay", "0"],
      ["repl-ping-replica-period", "1"],
      // The bus must not be at port + 10000, which may be anybody's.
      ["cluster-port", String(await freePort())],
      ...ports,
      ...(acl === undefined ? [] : [["aclfile", join(this.dir, "users.acl")] as const]),
      ...config,
    ];
    return `${lines.map(([key, value]) => `${key} ${value}`).join("\n")}\n`;
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const piece of stream) this.#log += decoder.decode(piece, { stream: true });
  }
}

function tlsDirectives(tls: { readonly ca: string; readonly cert: string; readonly key: string }): [string, string][] {
  return [
    ["port", "0"],
    ["tls-ca-cert-file", tls.ca],
    ["tls-cert-file", tls.cert],
    ["tls-key-file", tls.key],
    ["tls-auth-clients", "yes"],
    ["tls-replication", "yes"],
    ["tls-cluster", "yes"],
  ];
}

/** Given out by this process; a server may take a while to listen on its own. */
const given = new Set<number>();

/** Below the range that outgoing connections take their ports from, so that none of those takes it meanwhile. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (given.has(port)) continue;
    given.add(port);
    if (await canListen(port)) return port;
  }
}

function canListen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  return promise;
}
