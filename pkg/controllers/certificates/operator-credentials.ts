/** With what the operator asks agents whether they trust a root: its identity, or for a root that signs nothing yet one for the asking. */
import type { ValkeyCA } from "../../api/ca.ts";
import type { Cache } from "../../kube/cache.ts";
import { createIntermediate, encodeCertificates, encodeKey, issueLeaf } from "../../pki/pki.ts";
import { mtlsIntermediate, operatorWish } from "../../plan/certificates/requests.ts";
import { ROOT_CA_NAME } from "../../plan/objects/names.ts";
import type { Roots } from "../ca/roots.ts";
import type { ProbeCredential } from "./agent-probe.ts";
import type { OperatorIdentity } from "./operator-identity.ts";

export interface CredentialDeps {
  readonly namespace: string;
  readonly cas: Cache<ValkeyCA>;
  readonly roots: Roots;
  readonly identity: OperatorIdentity;
}

const LIFETIME_MS = 10 * 60_000;

export class OperatorCredentials {
  readonly #deps: CredentialDeps;
  #made: { readonly root: string; readonly credential: ProbeCredential; readonly until: number } | undefined;

  constructor(deps: CredentialDeps) {
    this.#deps = deps;
  }

  /** Of the roots given, those under which we can come. */
  async under(roots: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, ProbeCredential>> {
    const found = new Map<string, ProbeCredential>();
    for (const root of roots) {
      const credential = this.#own(root) ?? (await this.#next(root, signal));
      if (credential !== undefined) found.set(root, credential);
    }
    return found;
  }

  #own(root: string): ProbeCredential | undefined {
    const { identity } = this.#deps;
    const { current } = identity;
    return identity.root === root && current !== undefined
      ? { cert: current.certificate, key: current.key }
      : undefined;
  }

  async #next(root: string, signal: AbortSignal): Promise<ProbeCredential | undefined> {
    const { cas, namespace, roots } = this.#deps;
    const ca = cas.get({ namespace, name: ROOT_CA_NAME });
    const view = ca === undefined ? undefined : roots.view(ca);
    if (ca === undefined || view?.found !== "root" || view.next?.thumbprint !== root) return undefined;
    if (this.#made?.root === root && this.#made.until > Date.now()) return this.#made.credential;
    const credential = await this.#make(ca, signal);
    this.#made = { root, credential, until: Date.now() + LIFETIME_MS / 2 };
    return credential;
  }

  async #make(ca: ValkeyCA, signal: AbortSignal): Promise<ProbeCredential> {
    const { namespace, roots } = this.#deps;
    const now = new Date();
    const { scope, ...wish } = mtlsIntermediate({ role: "operator", namespace });
    const root = await roots.signer(ca, "next", signal);
    const lifetime = { now, lifetimeMs: LIFETIME_MS };
    const issuer = await createIntermediate(root, { ...wish, ...(scope === undefined ? {} : { scope }), ...lifetime });
    const leaf = await issueLeaf(issuer, { ...operatorWish(namespace, LIFETIME_MS), now });
    return {
      cert: encodeCertificates([leaf.certificate, issuer.certificate]),
      key: await encodeKey(leaf.keys.privateKey),
    };
  }
}
