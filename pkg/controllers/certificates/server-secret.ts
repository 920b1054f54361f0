/** A Secret with a certificate for servers, ours or somebody else's: what is in it, and whether it fits together. */
import * as v from "valibot";
import { type ObjectMeta, ObjectMetaSchema, SECRETS, typed } from "../../kube/resource.ts";
import {
  alternativeNames,
  type CertificateFacts,
  decodeCertificates,
  keyMark,
  readCertificates,
  reasonOf,
} from "../../pki/pki.ts";
import type { ServerFacts } from "../../plan/certificates/server.ts";
import { CERTIFICATE_FILE, KEY_FILE, ROOTS_FILE, textOf } from "./certificate-secret.ts";

/** With its texts: there is one for each cluster, and the cluster's own Secret is made of it. */
export interface ServerSecretObject {
  readonly metadata: ObjectMeta;
  readonly facts: ServerFacts;
  readonly certificate: string;
  readonly key: string;
  readonly authorities: string;
}

const Schema = v.object({ metadata: ObjectMetaSchema, data: v.optional(v.record(v.string(), v.string()), {}) });
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";

export const SERVER_SECRETS = typed<ServerSecretObject>(SECRETS, (value) => {
  const { metadata, data } = v.parse(Schema, value);
  const texts = {
    certificate: textOf(data[CERTIFICATE_FILE]),
    key: textOf(data[KEY_FILE]),
    authorities: textOf(data[ROOTS_FILE]),
  };
  return { metadata, ...texts, facts: factsOf(texts) };
});

type Texts = Pick<ServerSecretObject, "certificate" | "key" | "authorities">;

function factsOf(texts: Texts): ServerFacts {
  const { certificate, key, authorities } = texts;
  const files = { [CERTIFICATE_FILE]: certificate, [KEY_FILE]: key, [ROOTS_FILE]: authorities };
  const missing = Object.entries(files).flatMap(([name, text]) => (text === "" ? [name] : []));
  const none = { thumbprint: undefined, notBefore: undefined, notAfter: undefined, dnsNames: [] };
  if (missing.length > 0) return { ...none, missing, problem: undefined };
  try {
    return { missing, ...read(texts) };
  } catch (error) {
    return { ...none, missing, problem: reasonOf(error) };
  }
}

function read({ certificate, key, authorities }: Texts): Omit<ServerFacts, "missing"> {
  const [own, ...above] = readCertificates(certificate, CERTIFICATE_FILE);
  const [parsed] = decodeCertificates(certificate, CERTIFICATE_FILE);
  const roots = readCertificates(authorities, ROOTS_FILE);
  if (own === undefined || parsed === undefined) throw new Error(`${CERTIFICATE_FILE} holds no certificate`);
  const { thumbprint, notBefore, notAfter } = own;
  const problem =
    (keyMark(key, KEY_FILE) === own.keyMark ? undefined : `${KEY_FILE} is not the key of ${CERTIFICATE_FILE}`) ??
    (leadsTo(own, above, roots)
      ? undefined
      : `${CERTIFICATE_FILE} does not lead to a certificate in ${ROOTS_FILE}: put the whole chain into ${CERTIFICATE_FILE} and its root into ${ROOTS_FILE}`) ??
    usageProblem(own);
  return { thumbprint, notBefore, notAfter, dnsNames: alternativeNames(parsed).dns, problem };
}

/** By signatures, over intermediates in any order. */
function leadsTo(
  own: CertificateFacts,
  above: readonly CertificateFacts[],
  roots: readonly CertificateFacts[],
): boolean {
  if (roots.some((root) => root.thumbprint === own.thumbprint || own.signedBy(root))) return true;
  const next = above.find((each) => own.signedBy(each));
  return (
    next !== undefined &&
    leadsTo(
      next,
      above.filter((each) => each !== next),
      roots,
    )
  );
}

/** Nodes are servers to clients, and both servers and clients to each other. */
function usageProblem({ usages }: CertificateFacts): string | undefined {
  if (usages === undefined) return undefined;
  const lacking = [
    ...(usages.includes(SERVER_AUTH) ? [] : ["server auth"]),
    ...(usages.includes(CLIENT_AUTH) ? [] : ["client auth"]),
  ];
  if (lacking.length === 0) return undefined;
  return `the certificate is not made for ${lacking.join(" and ")}, and nodes are servers and clients to each other: add that to its extended key usages`;
}
