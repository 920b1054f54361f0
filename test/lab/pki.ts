/** The cluster's certificates and kubeconfigs, as an installer of Kubernetes would make them. */
import "reflect-metadata";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";
import { CONTROL_ADDRESS, NODE_COUNT, nodeAddress } from "./names.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const TEN_YEARS_MS = 10 * 365 * 86_400_000;

interface Issuer {
  readonly certificate: x509.X509Certificate;
  readonly keys: CryptoKeyPair;
}

interface Wanted {
  readonly file: string;
  readonly subject: string;
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
}

const API_NAMES = [
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
  "localhost",
];

/** Who gets a certificate; each also gets a kubeconfig of the same name. */
function wanted(): Wanted[] {
  const nodes = [...Array(NODE_COUNT).keys()].map((node) => ({
    file: `node${node}`,
    subject: `O=system:nodes, CN=system:node:node${node}`,
    dns: [`node${node}`],
    ip: [nodeAddress(node)],
  }));
  return [
    {
      file: "apiserver",
      subject: "CN=kube-apiserver",
      dns: API_NAMES,
      ip: ["127.0.0.1", "10.96.0.1", CONTROL_ADDRESS],
    },
    { file: "admin", subject: "O=system:masters, CN=admin" },
    { file: "controller-manager", subject: "CN=system:kube-controller-manager" },
    { file: "scheduler", subject: "CN=system:kube-scheduler" },
    { file: "proxy", subject: "CN=system:kube-proxy" },
    { file: "dns", subject: "O=system:masters, CN=coredns" },
    ...nodes,
  ];
}

export async function writePki(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const issuer = await makeAuthority();
  const ca = issuer.certificate.toString("pem");
  await Bun.write(join(folder, "ca.crt"), ca);
  await Bun.write(join(folder, "ca.key"), await privatePem(issuer.keys.privateKey));
  const signing = await generateKeys();
  await Bun.write(join(folder, "sa.key"), await privatePem(signing.privateKey));
  await Bun.write(
    join(folder, "sa.pub"),
    x509.PemConverter.encode(await crypto.subtle.exportKey("spki", signing.publicKey), "PUBLIC KEY"),
  );
  for (const one of wanted()) {
    const { certificate, key } = await issue(issuer, one);
    await Bun.write(join(folder, `${one.file}.crt`), certificate);
    await Bun.write(join(folder, `${one.file}.key`), key, { mode: 0o600 });
    await Bun.write(join(folder, `${one.file}.conf`), kubeconfig({ ca, certificate, key }), { mode: 0o600 });
  }
}

async function makeAuthority(): Promise<Issuer> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=kubernetes-ca",
    keys,
    signingAlgorithm: ALGORITHM,
    ...validity(),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate, keys };
}

async function issue(
  issuer: Issuer,
  { subject, dns = [], ip = [] }: Wanted,
): Promise<{ certificate: string; key: string }> {
  const keys = await generateKeys();
  const names = [
    ...dns.map((value) => ({ type: "dns" as const, value })),
    ...ip.map((value) => ({ type: "ip" as const, value })),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    issuer: issuer.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: issuer.keys.privateKey,
    signingAlgorithm: ALGORITHM,
    ...validity(),
    extensions: [
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.keys.publicKey),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ],
  });
  return { certificate: certificate.toString("pem"), key: await privatePem(keys.privateKey) };
}

async function generateKeys(): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

async function privatePem(key: CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");
}

function validity(): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + TEN_YEARS_MS) };
}

/** JSON is YAML too. */
function kubeconfig({ ca, certificate, key }: { ca: string; certificate: string; key: string }): string {
  const data = (text: string) => Buffer.from(text).toString("base64");
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "lab",
    clusters: [
      { name: "lab", cluster: { server: `https://${CONTROL_ADDRESS}:6443`, "certificate-authority-data": data(ca) } },
    ],
    users: [{ name: "lab", user: { "client-certificate-data": data(certificate), "client-key-data": data(key) } }],
    contexts: [{ name: "lab", context: { cluster: "lab", user: "lab" } }],
  });
}
