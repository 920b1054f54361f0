/** For tests: what OpenSSL thinks of our certificates. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeCertificates } from "./pem.ts";
import type { X509Certificate } from "./x509.ts";

export interface OpensslRequest {
  readonly leaf: X509Certificate;
  readonly intermediates?: readonly X509Certificate[];
  readonly roots: readonly X509Certificate[];
  readonly now: Date;
  readonly usage?: "server" | "client";
}

/** "OK", or the lines that say why not. */
export async function opensslVerify(request: OpensslRequest): Promise<string> {
  return withFolder(async (folder) => {
    const write = async (name: string, certificates: readonly X509Certificate[]) => {
      await Bun.write(join(folder, name), encodeCertificates(certificates));
      return join(folder, name);
    };
    const { leaf, intermediates = [], roots, now, usage } = request;
    const command = ["openssl", "verify", "-no-CAfile", "-no-CApath", "-x509_strict"];
    command.push("-attime", String(Math.floor(now.getTime() / 1000)), "-CAfile", await write("roots.pem", roots));
    if (intermediates.length > 0) command.push("-untrusted", await write("between.pem", intermediates));
    if (usage !== undefined) command.push("-purpose", usage === "server" ? "sslserver" : "sslclient");
    const { code, text } = await openssl([...command, await write("leaf.pem", [leaf])]);
    return code === 0 ? "OK" : text;
  });
}

/** `openssl x509 -text` with all that belongs to it. */
export async function opensslText(certificate: X509Certificate, ...more: string[]): Promise<string> {
  return withFolder(async (folder) => {
    const file = join(folder, "certificate.pem");
    await Bun.write(file, encodeCertificates([certificate]));
    return (await openssl(["openssl", "x509", "-in", file, "-noout", "-text", ...more])).text;
  });
}

async function openssl(command: string[]): Promise<{ code: number; text: string }> {
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, text: out + err };
}

async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "pki-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
