/** As whom we speak to the API server: certificates, tokens and the files they come from, read anew as they change. */
import { readFileSync } from "node:fs";
import { KubeError } from "./kube-error.ts";

export interface Credential {
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** PEM of a client certificate and its key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface Credentials {
  current(): Promise<Credential>;
  /** The server answered 401 to this one: what is kept of it is worthless. */
  refused(credential: Credential): void;
}

/** A text that is either given or in a file. */
export interface TextSource {
  read(): string;
  forget(): void;
}

export function givenText(text: string): TextSource {
  return { read: () => text, forget: () => undefined };
}

/** kubelet and others rotate these files; a token is good for some while after its successor was written. */
const FILE_AGE_MS = 10_000;

export class FileText implements TextSource {
  readonly #path: string;
  #text: string | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(path: string) {
    this.#path = path;
  }

  read(): string {
    if (this.#text !== undefined && performance.now() - this.#readAt < FILE_AGE_MS) return this.#text;
    try {
      this.#text = readFileSync(this.#path, "utf8");
    } catch (cause) {
      // A file that is being replaced may be missing for a moment: what was read last serves until then.
      if (this.#text === undefined) throw unreadable(this.#path, cause);
    }
    this.#readAt = performance.now();
    return this.#text;
  }

  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }
}

function unreadable(path: string, cause: unknown): KubeError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new KubeError({ code: "config", action: `read ${path}`, message, cause });
}

export interface CredentialSources {
  readonly cert?: TextSource | undefined;
  readonly key?: TextSource | undefined;
  readonly token?: TextSource | undefined;
  readonly basic?: { readonly username: string; readonly password: string } | undefined;
  /** Impersonation. */
  readonly headers?: Readonly<Record<string, string | string[]>> | undefined;
}

export class SourcedCredentials implements Credentials {
  readonly #sources: CredentialSources;

  constructor(sources: CredentialSources) {
    this.#sources = sources;
  }

  async current(): Promise<Credential> {
    const { cert, key, headers } = this.#sources;
    const authorization = this.#authorization();
    return {
      headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
      cert: cert?.read(),
      key: key?.read(),
    };
  }

  refused(): void {
    const { cert, key, token } = this.#sources;
    for (const source of [cert, key, token]) source?.forget();
  }

  #authorization(): string | undefined {
    const { token, basic } = this.#sources;
    if (token !== undefined) return `Bearer ${token.read().trim()}`;
    if (basic === undefined) return undefined;
    return `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString("base64")}`;
  }
}
