/**
 * Our own public key infrastructure: a root, an intermediate per deployment and purpose, and leaves for nodes, the
 * operator and the webhooks, so that no cluster needs cert-manager. Apart from asking a server by a handshake everything
 * here is values in, values out: who stores, rotates and serves certificates lives elsewhere, and the time is always an
 * argument.
 */

export { ROTATE_BEFORE_PERCENT, whenToRotate } from "../plan/certificates/due.ts";
export { callerOf } from "./caller.ts";
export { type Constraints, type NameSet } from "./constraints.ts";
export { type CertificateFacts, keyMark, readCertificates, signingKeyProblem } from "./facts.ts";
export { type HandshakeRequest, type HandshakeResult, handshake } from "./handshake.ts";
export {
  type AuthorityRequest,
  type Credential,
  createIntermediate,
  createRoot,
  issueLeaf,
  type LeafRequest,
  type Lifetime,
  type Usage,
} from "./issue.ts";
export { peerIdentity, validUntil } from "./peer.ts";
export {
  decodeCertificate,
  decodeCertificates,
  decodeKeys,
  encodeCertificates,
  encodeKey,
  generateKeys,
  type KeyPair,
  keyFits,
  parseDer,
  thumbprint,
} from "./pem.ts";
export { PkiError, reasonOf } from "./pki-error.ts";
export { type AlternativeNames, alternativeNames } from "./san.ts";
export {
  formatSpiffeId,
  type NodeIdentity,
  type OperatorIdentity,
  parseSpiffeId,
  type SpiffeId,
  type SpiffeResult,
  sameDeployment,
} from "./spiffe.ts";
export { type Verdict, type VerifyRequest, verifyChain } from "./verify.ts";
export { X509Certificate } from "./x509.ts";
