/** Exec credential plugins: a program named in the kubeconfig prints a token or a client certificate. */
import * as v from "valibot";
import { KubeError } from "./kube-error.ts";
import type { Credential, Credentials } from "./transport-credentials.ts";

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint?: string | undefined;
  readonly interactiveMode: "Never" | "IfAvailable" | "Always";
  /** What the program is told of the cluster, when it asks for that. */
  readonly cluster?: object | undefined;
}

export interface ExecOptions {
  readonly headers?: Readonly<Record<string, string | string[]>> | undefined;
  /** Defaults to 60 s: a person may have to answer it. */
  readonly deadlineMs?: number;
  /** Defaults to Date.now. */
  readonly now?: () => number;
}

/** Renewed this long before its time, so that none expires on its way. */
const EARLY_MS = 5_000;

const ExecCredential = v.object({
  kind: v.literal("ExecCredential"),
  status: v.object({
    token: v.optional(v.string()),
    clientCertificateData: v.optional(v.string()),
    clientKeyData: v.optional(v.string()),
    expirationTimestamp: v.optional(v.pipe(v.string(), v.isoTimestamp())),
  }),
});

export class ExecCredentials implements Credentials {
  readonly #plugin: ExecPlugin;
  readonly #headers: Readonly<Record<string, string | string[]>>;
  readonly #deadlineMs: number;
  readonly #now: () => number;
  #kept: { readonly credential: Credential; readonly expiresAt: number } | undefined;
  #running: Promise<Credential> | undefined;

  constructor(plugin: ExecPlugin, options: ExecOptions = {}) {
    this.#plugin = plugin;
    this.#headers = options.headers ?? {};
    this.#deadlineMs = options.deadlineMs ?? 60_000;
    this.#now = options.now ?? Date.now;
  }

  async current(): Promise<Credential> {
    if (this.#kept !== undefined && this.#kept.expiresAt - EARLY_MS > this.#now()) return this.#kept.credential;
    // Many requests at once share one run of the program.
    this.#running ??= this.#renew().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  refused(credential: Credential): void {
    if (this.#kept?.credential === credential) this.#kept = undefined;
  }

  async #renew(): Promise<Credential> {
    const { status } = this.#read(await this.#run());
    const { token, expirationTimestamp } = status;
    const credential = {
      headers: { ...this.#headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      cert: status.clientCertificateData,
      key: status.clientKeyData,
    };
    const expiresAt = expirationTimestamp === undefined ? Number.POSITIVE_INFINITY : Date.parse(expirationTimestamp);
    this.#kept = { credential, expiresAt };
    return credential;
  }

  async #run(): Promise<string> {
    const { command, args, env, apiVersion, interactiveMode, cluster } = this.#plugin;
    const terminal = process.stdin.isTTY && interactiveMode !== "Never";
    if (interactiveMode === "Always" && !terminal) throw this.#failed("it needs a terminal and there is none");
    const info = { apiVersion, kind: "ExecCredential", spec: { interactive: terminal, cluster } };
    const child = this.#spawn([command, ...args], {
      env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      stdin: terminal ? "inherit" : "ignore",
      stderr: terminal ? "inherit" : "pipe",
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), this.#deadlineMs);
    try {
      const [out, err, code] = await Promise.all([
        new Response(child.stdout).text(),
        textOf(child.stderr),
        child.exited,
      ]);
      if (child.signalCode === "SIGKILL") throw this.#failed(`it did not end within ${this.#deadlineMs / 1000} s`);
      if (code !== 0) throw this.#failed(`it ended with ${code}: ${err.trim()}`);
      return out;
    } finally {
      clearTimeout(timer);
    }
  }

  #spawn(command: string[], options: SpawnOptions): Bun.Subprocess<"inherit" | "ignore", "pipe", "inherit" | "pipe"> {
    try {
      return Bun.spawn(command, { ...options, stdout: "pipe" });
    } catch (cause) {
      throw this.#failed(cause instanceof Error ? cause.message : String(cause), cause);
    }
  }

  #read(text: string): v.InferOutput<typeof ExecCredential> {
    try {
      return v.parse(ExecCredential, JSON.parse(text));
    } catch (cause) {
      // What it printed may hold a token, so it is not shown.
      throw this.#failed("it printed something that is not an ExecCredential with a status", cause);
    }
  }

  #failed(message: string, cause?: unknown): KubeError {
    const action = `get credentials from ${this.#plugin.command}`;
    return new KubeError({ code: "config", action, message, hint: this.#plugin.installHint, cause });
  }
}

interface SpawnOptions {
  readonly env: Record<string, string | undefined>;
  readonly stdin: "inherit" | "ignore";
  readonly stderr: "inherit" | "pipe";
}

async function textOf(stream: ReadableStream<Uint8Array> | undefined): Promise<string> {
  return stream === undefined ? "" : new Response(stream).text();
}
