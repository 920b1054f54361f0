/** Certificates in Secrets as tests look at them: real openssl decides whether a chain is good. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CERTIFICATE_FILE,
  KEY_FILE,
  ROOTS_FILE,
  textOf,
  WHOLE_SECRETS,
  type WholeSecret,
} from "../../pkg/controllers/certificates/certificate-secret.ts";
import { readCertificates } from "../../pkg/pki/pki.ts";
import { run } from "../../scripts/lib.ts";
import { until } from "../lib/until.ts";
import { client } from "./operator.ts";

export interface IssuedFiles {
  readonly secret: WholeSecret;
  readonly chain: string;
  readonly key: string;
  readonly roots: string;
  readonly thumbprint: string;
  readonly rootThumbprints: readonly string[];
  readonly notAfter: Date;
}

/** Until the Secret holds a certificate that passes. */
export async function issued(
  namespace: string,
  name: string,
  accept: (files: IssuedFiles) => boolean = () => true,
  timeoutMs = 60_000,
): Promise<IssuedFiles> {
  return until(
    `Secret ${namespace}/${name} holds a certificate`,
    async () => {
      const files = filesOf(await client.get(WHOLE_SECRETS, { namespace, name }));
      return accept(files) ? files : undefined;
    },
    { everyMs: 50, timeoutMs },
  );
}

export function filesOf(secret: WholeSecret): IssuedFiles {
  const chain = textOf(secret.data[CERTIFICATE_FILE]);
  const roots = textOf(secret.data[ROOTS_FILE]);
  const [own] = readCertificates(chain, CERTIFICATE_FILE);
  if (own === undefined) throw new Error("no certificate");
  return {
    secret,
    chain,
    key: textOf(secret.data[KEY_FILE]),
    roots,
    thumbprint: own.thumbprint,
    rootThumbprints: readCertificates(roots, ROOTS_FILE).map(({ thumbprint }) => thumbprint),
    notAfter: own.notAfter,
  };
}

/** What `openssl verify` says about the leaf with its own chain and the roots given. */
export async function opensslVerify({ chain }: Pick<IssuedFiles, "chain">, roots: string): Promise<string> {
  return inFolder({ "leaf.pem": chain, "roots.pem": roots }, async (folder) =>
    run([
      "openssl",
      "verify",
      "-CAfile",
      join(folder, "roots.pem"),
      "-untrusted",
      join(folder, "leaf.pem"),
      join(folder, "leaf.pem"),
    ]),
  );
}

export async function opensslNames({ chain }: Pick<IssuedFiles, "chain">): Promise<string> {
  return inFolder({ "leaf.pem": chain }, async (folder) =>
    run(["openssl", "x509", "-in", join(folder, "leaf.pem"), "-noout", "-ext", "subjectAltName"]),
  );
}

async function inFolder<T>(files: Record<string, string>, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "pki-"));
  try {
    for (const [name, text] of Object.entries(files)) await Bun.write(join(folder, name), text);
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}
