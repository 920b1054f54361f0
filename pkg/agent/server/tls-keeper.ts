/** Gives a running server its certificate, key and authorities, and asks it by a handshake whether it serves them. */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { join } from "node:path";
import type { Clock } from "../../clock/clock.ts";
import {
  alternativeNames,
  decodeCertificates,
  handshake,
  thumbprint,
  verifyChain,
  type X509Certificate,
} from "../../pki/pki.ts";
import type { SecretMaterial, Wire } from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type { ValkeyClient } from "../../valkey/client.ts";
import { ReplyError } from "../../valkey/resp.ts";
import { writeWhole } from "../files.ts";
import { PerRun, readRunning } from "./server-run.ts";
import type { MayRepair, SettingDrift } from "./settings-keeper.ts";
import { putBack, readBytes } from "./whole-file.ts";

interface Refused {
  readonly refused: string;
}

export type TlsOutcome = "applied" | "needs-restart" | Refused;

export interface TlsKeeperOptions {
  readonly client: ValkeyClient;
  /** Of server.crt, server.key, ca.crt and dh.pem. */
  readonly dir: string;
  /** Where the server listens. */
  readonly host: string;
  readonly clock: Clock;
}

interface TlsFile {
  readonly setting: string;
  readonly path: string;
  readonly content: Uint8Array;
}

const HANDSHAKE_MS = 3000;

export class TlsKeeper {
  readonly #options: TlsKeeperOptions;
  /** Names the contents that this run of the server was given. */
  readonly #given = new PerRun(() => ({ hash: "" }));

  constructor(options: TlsKeeperOptions) {
    this.#options = options;
  }

  async apply(wire: Wire | undefined, secrets: SecretMaterial, signal: AbortSignal): Promise<TlsOutcome> {
    const { runId, settings } = await readRunning(this.#options.client, [], signal);
    const port = Number(settings.get("tls-port") ?? "0");
    // Ports are opened when a server starts; which of them speak TLS is nothing to change under its clients.
    if ((port !== 0) !== (wire?.tls === true)) return "needs-restart";
    if (port === 0) return "applied";
    const leaf = await this.#judge(secrets);
    if ("refused" in leaf) return leaf;
    const files = filesOf(this.#options.dir, secrets);
    const given = this.#given.of(runId);
    if (given.hash !== hashOf(files)) {
      const refusal = await this.#give(files, signal);
      if (refusal !== undefined) return { refused: refusal };
      given.hash = hashOf(files);
    }
    const wrong = await this.#verify(leaf, { port, secrets, signal });
    return wrong === undefined ? "applied" : { refused: wrong };
  }

  /** Files that somebody else made the server read instead of ours, and whether it reads ours again. */
  async check(
    { wire, secrets }: { readonly wire: Wire | undefined; readonly secrets: SecretMaterial },
    mayRepair: MayRepair,
    signal: AbortSignal,
  ): Promise<readonly SettingDrift[]> {
    if (wire?.tls !== true) return [];
    const files = filesOf(this.#options.dir, secrets);
    const { settings } = await readRunning(this.#options.client, [], signal);
    const wrong = files.filter(({ setting, path }) => settings.get(setting) !== path).map(({ setting }) => setting);
    if (settings.get("tls-port") === "0" || wrong.length === 0) return [];
    const repaired = wrong.some(mayRepair) && (await this.#give(files, signal)) === undefined;
    return wrong.map((name) => ({ name, repaired }));
  }

  /**
   * All in one command: certificate and key are checked against each other. A server that does not take them goes on
   * with the old ones, and has to find them when it starts again.
   */
  async #give(files: readonly TlsFile[], signal: AbortSignal): Promise<string | undefined> {
    const before = files.map(({ path }) => ({ path, content: readBytes(path) }));
    const restore = () => before.forEach(({ path, content }) => putBack(path, content));
    try {
      for (const { path, content } of files) writeWhole(path, content);
      const command = ["CONFIG", "SET", ...files.flatMap(({ setting, path }) => [setting, path])];
      const [reply] = await this.#options.client.pipeline([command], { signal });
      if (!(reply instanceof ReplyError)) return undefined;
      restore();
      return reply.message;
    } catch (error) {
      restore();
      throw error;
    }
  }

  /** A server takes a certificate that nobody will trust without a word; ours is looked at before it gets there. */
  async #judge({ tlsCertificate, tlsKey, tlsAuthorities }: SecretMaterial): Promise<X509Certificate | Refused> {
    if (tlsCertificate.length === 0 || tlsKey.length === 0) return { refused: "there is no certificate or no key" };
    try {
      const [leaf, ...intermediates] = decodeCertificates(text(tlsCertificate), "the server certificate");
      const roots = decodeCertificates(text(tlsAuthorities), "the trusted authorities");
      if (leaf === undefined) return { refused: "there is no certificate" };
      const now = new Date(this.#options.clock.wall());
      const verdict = await verifyChain({ leaf, intermediates, roots, now, usage: "server" });
      return verdict.ok ? leaf : { refused: verdict.reason };
    } catch (error) {
      return { refused: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Why the server does not serve this certificate; undefined when it does. */
  async #verify(
    leaf: X509Certificate,
    {
      port,
      secrets,
      signal,
    }: { readonly port: number; readonly secrets: SecretMaterial; readonly signal: AbortSignal },
  ): Promise<string | undefined> {
    const request = {
      host: this.#options.host,
      port,
      ca: text(secrets.tlsAuthorities),
      credential: { cert: text(secrets.tlsCertificate), key: text(secrets.tlsKey) },
      expect: { name: nameOf(leaf) },
    };
    const late = AbortSignal.any([signal, AbortSignal.timeout(HANDSHAKE_MS)]);
    const result = await handshake(request, late);
    // A server that is slow to answer has refused nothing: what is thrown is tried again.
    if (!result.ok && late.aborted) throw new Error(`the server does not prove its certificate: ${result.reason}`);
    if (!result.ok) return `the server does not prove its certificate: ${result.reason}`;
    return thumbprint(result.certificate) === thumbprint(leaf) ? undefined : "the server serves another certificate";
  }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

/** Any name that it is made for will do: that it is the wanted certificate is told by its thumbprint. */
function nameOf(leaf: X509Certificate): string {
  const { dns, ip } = alternativeNames(leaf);
  const name = dns[0] ?? ip[0] ?? "localhost";
  return isIP(name) === 0 ? name.replace(/^\*/u, "any") : name;
}

function filesOf(dir: string, secrets: SecretMaterial): readonly TlsFile[] {
  const files = [
    { setting: "tls-cert-file", path: join(dir, "server.crt"), content: secrets.tlsCertificate },
    { setting: "tls-key-file", path: join(dir, "server.key"), content: secrets.tlsKey },
    { setting: "tls-ca-cert-file", path: join(dir, "ca.crt"), content: secrets.tlsAuthorities },
    { setting: "tls-dh-params-file", path: join(dir, "dh.pem"), content: secrets.tlsDhParams },
  ];
  return files.filter(({ content }) => content.length > 0);
}

function hashOf(files: readonly TlsFile[]): string {
  const hash = createHash("sha256");
  for (const { setting, content } of files) hash.update(`${setting} ${content.length}\n`).update(content);
  return hash.digest("hex");
}
