/** A certificate of its own for a server on loopback; it is its own CA. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";

export interface SelfSigned {
  readonly cert: string;
  readonly key: string;
}

export async function selfSigned(ip: string): Promise<SelfSigned> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=loopback",
    keys,
    signingAlgorithm: algorithm,
    notAfter: new Date(Date.now() + 24 * 3_600_000),
    extensions: [
      new x509.SubjectAlternativeNameExtension([{ type: "ip", value: ip }]),
      new x509.BasicConstraintsExtension(true, undefined, true),
    ],
  });
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  const lines = pkcs8.match(/.{1,64}/gu) ?? [];
  const key = `-----BEGIN PRIVATE KEY-----\n${lines.join("\n")}\n-----END PRIVATE KEY-----\n`;
  return { cert: certificate.toString("pem"), key };
}
