/** One pod of an AgentWorld: an agent and a server that a played kubelet starts again when it ends. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { pino } from "pino";
import { IMAGES } from "../../images/files.ts";
import { Agent } from "../../pkg/agent/agent.ts";
import type { AgentOptions } from "../../pkg/agent/agent-options.ts";
import { agentPaths } from "../../pkg/agent/agent-paths.ts";
import { type NodeState, ServerPhase } from "../../pkg/rpc/gen/valkey/agent/v1/state_pb.ts";
import { OPERATOR, TRUST_DOMAIN } from "../../pkg/rpc/test-peers.ts";
import type { Reply } from "../../pkg/valkey/resp.ts";
import { command, ensureValkey } from "../lab/valkey.ts";
import type { AgentWorld } from "./agent-world.ts";
import { Program } from "./program.ts";
import { Connection } from "./resp/connection.ts";
import { until, within } from "./until.ts";

export interface PodPlace {
  readonly name: string;
  readonly shard: number;
  readonly member: number;
  readonly host: string;
  readonly dir: string;
}

/** As kubelet does, only sooner. */
const RESTART_MS = 100;

export class AgentPod implements AsyncDisposable {
  readonly at: PodPlace;
  readonly logs: string[] = [];
  readonly #world: AgentWorld;
  #agent: Agent | undefined;
  #server: Subprocess<"ignore", "pipe", "pipe"> | undefined;
  /** Ends the played kubelet that starts the server again. */
  #kubelet = new AbortController();
  #output = "";

  constructor(world: AgentWorld, at: PodPlace) {
    this.#world = world;
    this.at = at;
  }

  get folders() {
    const { dir } = this.at;
    return { run: join(dir, "run"), data: join(dir, "data"), mounts: join(dir, "mounts") };
  }

  get options(): AgentOptions {
    const { name, host } = this.at;
    return {
      node: name,
      pod: `${name}-0`,
      namespace: "shop",
      podIp: host,
      parentKind: "valkeycluster",
      parentName: "cart",
      trustDomain: TRUST_DOMAIN,
      operatorUrl: this.#world.operatorUrl,
      operatorNamespace: OPERATOR.namespace,
      memoryLimit: 0n,
      valkeyVersion: undefined,
      paths: agentPaths(this.folders),
      listen: host,
      rpcPort: 8444,
      probePort: 8445,
    };
  }

  /** What the server printed, over all its lives. */
  get output(): string {
    return this.#output;
  }

  get serverPid(): number | undefined {
    return this.#server?.exitCode === null && this.#server.signalCode === null ? this.#server.pid : undefined;
  }

  async prepare(): Promise<void> {
    const { run, data, mounts } = this.folders;
    await Promise.all([run, data].map((folder) => mkdir(folder, { recursive: true })));
    await this.#world.writeMounts(mounts, this.at.name);
  }

  async startAgent(): Promise<Agent> {
    const log = pino({ level: "debug" }, { write: (line) => void this.logs.push(line) });
    this.#agent = await Agent.start({ options: this.options, log, heartbeatMs: 500 });
    return this.#agent;
  }

  /** As a process of its own, as in a pod. */
  startAgentProcess(sidecar: readonly string[]): Program {
    const { node, pod, namespace, podIp, parentKind, parentName, trustDomain, operatorUrl, operatorNamespace } =
      this.options;
    const { run, data, mounts } = this.folders;
    return new Program(
      [...sidecar, "run", "--run-dir", run, "--data-dir", data, "--mount-dir", mounts, "--listen", this.at.host],
      {
        env: {
          ...IMAGES.find(({ id }) => id === "sidecar")?.env,
          NODE_NAME: node,
          POD_NAME: pod,
          POD_NAMESPACE: namespace,
          POD_IP: podIp,
          PARENT_KIND: parentKind,
          PARENT_NAME: parentName,
          TRUST_DOMAIN: trustDomain,
          OPERATOR_URL: operatorUrl,
          OPERATOR_NAMESPACE: operatorNamespace,
        },
      },
    );
  }

  async stopAgent(): Promise<void> {
    const agent = this.#agent;
    this.#agent = undefined;
    await agent?.stop(AbortSignal.timeout(500));
  }

  async start(): Promise<void> {
    await this.startAgent();
    await this.startServer();
  }

  /** Starts the server and, whenever it ends, starts it again. */
  async startServer(): Promise<void> {
    this.#kubelet.abort();
    const kubelet = new AbortController();
    this.#kubelet = kubelet;
    const { root } = await ensureValkey(this.#world.options.version);
    void this.#keepServer([...command(root, "valkey-server"), this.options.paths.serverConf], kubelet.signal);
  }

  /** It ends as if its machine lost power; the played kubelet starts it again unless told otherwise. */
  async killServer({ restart = true } = {}): Promise<void> {
    if (!restart) this.#kubelet.abort();
    const server = this.#server;
    server?.kill("SIGKILL");
    await server?.exited;
  }

  /** It stands still, as a debugger would make it. */
  freezeServer(): void {
    this.#server?.kill("SIGSTOP");
  }

  /** As kubelet ends a container. */
  async stopServer(): Promise<void> {
    this.#kubelet.abort();
    const server = this.#server;
    server?.kill("SIGTERM");
    await server?.exited;
  }

  /** The volume is exchanged for an empty one. */
  async loseDisk(): Promise<void> {
    await rm(this.folders.data, { recursive: true, force: true });
    await mkdir(this.folders.data);
  }

  async state(): Promise<NodeState> {
    const { state } = await this.#world.agent(this).getState({}, { timeoutMs: 3000 });
    if (state === undefined) throw new Error(`${this.at.name} told no state`);
    return state;
  }

  async reaches(what: string, holds: (state: NodeState) => boolean, timeoutMs = 10_000): Promise<NodeState> {
    let last: NodeState | undefined;
    try {
      return await until(
        `${this.at.name}: ${what}`,
        async () => {
          last = await this.state();
          return holds(last) ? last : undefined;
        },
        { timeoutMs },
      );
    } catch (error) {
      const shown = JSON.stringify(last, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value));
      throw new Error(`${String(error)}\n${shown}\n${this.logs.slice(-15).join("")}\n${this.#output.slice(-2000)}`, {
        cause: error,
      });
    }
  }

  async runs(): Promise<NodeState> {
    return this.reaches("runs", ({ server }) => server?.phase === ServerPhase.RUNNING);
  }

  async ready(): Promise<NodeState> {
    return this.reaches("is ready", ({ server }) => server?.ready === true);
  }

  /** One command at the server, over its socket. */
  async send(...args: string[]): Promise<Reply> {
    const connection = await Connection.open({ at: { path: this.options.paths.serverSocket } });
    try {
      return await within(args.join(" "), 3000, () => connection.call(...args));
    } finally {
      connection.close();
    }
  }

  async countKeys(): Promise<number> {
    return Number(await this.send("DBSIZE"));
  }

  /** Whether it holds the last key that was written with this word; replicas are asked too. */
  async hasKey(word: string): Promise<boolean> {
    const [, keys] = [await this.send("READONLY").catch(() => undefined), await this.send("KEYS", `${word}-*`)];
    return Array.isArray(keys) && keys.length > 0;
  }

  /** Keys of slots that this node owns. */
  async writeOwnKeys(word: string, count: number): Promise<void> {
    for (let key = 0, written = 0; written < count; key += 1) {
      const reply = await this.send("SET", `${word}-${key}`, word).catch(() => undefined);
      if (reply === "OK") written += 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killServer({ restart: false });
    await this.stopAgent();
  }

  async #keepServer(line: readonly string[], signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // The kernel ends the server when the test process dies, however it dies.
      const leash = Bun.which("setpriv") === null ? [] : ["setpriv", "--pdeathsig", "KILL"];
      const server = Bun.spawn([...leash, ...line], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
      this.#server = server;
      const reading = Promise.all([this.#collect(server.stdout), this.#collect(server.stderr)]);
      await server.exited;
      await reading;
      await Bun.sleep(RESTART_MS);
    }
  }

  async #collect(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const piece of stream) this.#output += decoder.decode(piece, { stream: true });
  }
}
