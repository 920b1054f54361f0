/** The roots of all ValkeyCAs: what is known of them, and the moment in which one of them signs. */
import type { ValkeyCA } from "../../api/ca.ts";
import type { Cache } from "../../kube/cache.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Source } from "../../kube/controller.ts";
import type { NamedCaches } from "../../kube/named-caches.ts";
import { keyOf } from "../../kube/resource.ts";
import { type CertificateFacts, type Credential, decodeCertificate, decodeKeys, PkiError } from "../../pki/pki.ts";
import type { RootView } from "../../plan/ca.ts";
import type { AuthorityView } from "../../plan/certificates/view.ts";
import { WHOLE_SECRETS } from "../certificates/certificate-secret.ts";
import {
  CERTIFICATE,
  decoded,
  KEY,
  NEXT_CERTIFICATE,
  NEXT_KEY,
  type RootFiles,
  type RootPart,
  rootOf,
  trustedOf,
} from "./root-part.ts";
import type { SecretsStore } from "./secrets-store.ts";

export interface RootsDeps {
  readonly client: Pick<KubeClient, "find">;
  /** The operator's own: its ValkeyCAs serve every namespace. */
  readonly namespace: string;
  readonly cas: Cache<ValkeyCA>;
  readonly secrets: NamedCaches<RootPart>;
  readonly store: SecretsStore;
}

/** Who asks for a signature. */
export interface RootUse {
  readonly caRef: string;
  readonly namespace: string;
  /** What is between operator and agents is signed by the operator's own ValkeyCAs only. */
  readonly purpose: "mtls" | "tls";
}

type Parts = { readonly certificate: RootPart | undefined; readonly key: RootPart | undefined } | "unknown";

export class Roots {
  readonly #deps: RootsDeps;

  constructor(deps: RootsDeps) {
    this.#deps = deps;
    deps.cas.subscribe(({ type, object }) => this.#follow(object, type !== "delete"));
  }

  view(ca: ValkeyCA): RootView {
    if (ca.spec.secretType === "SecretsStore" && ca.metadata.namespace !== this.#deps.namespace) {
      const why = `the secrets store is mounted by the operator and serves ValkeyCAs in its namespace ${this.#deps.namespace} only`;
      return { found: "unusable", why };
    }
    const parts = this.#parts(ca);
    return parts === "unknown" ? { found: "unknown" } : rootOf(parts.certificate, parts.key);
  }

  /** The ValkeyCA that a bundle names: of its own namespace, or the operator's. */
  caOf({ caRef, namespace, purpose }: RootUse): ValkeyCA | undefined {
    const own = purpose === "mtls" ? undefined : this.#deps.cas.get({ namespace, name: caRef });
    return own ?? this.#deps.cas.get({ namespace: this.#deps.namespace, name: caRef });
  }

  authority(use: RootUse): AuthorityView {
    const ca = this.caOf(use);
    if (ca === undefined) {
      return { ready: false, why: `there is no ValkeyCA ${use.caRef} in namespace ${this.#deps.namespace}` };
    }
    const root = this.view(ca);
    if (root.found !== "root" || root.halfChanged === true) {
      return { ready: false, why: `ValkeyCA ${keyOf(ca)} has no root that can sign yet: see its status` };
    }
    const { thumbprint, notAfter, next } = root;
    const trusted = this.trusted(ca).map((each) => each.thumbprint);
    return { ready: true, root: thumbprint, notAfter, next: next?.thumbprint, trusted };
  }

  /** Certificates of all roots that are to be trusted. */
  trusted(ca: ValkeyCA): readonly CertificateFacts[] {
    const parts = this.#parts(ca);
    return parts === "unknown" ? [] : trustedOf(parts.certificate);
  }

  /** The root with its key, read for this moment. */
  async signer(ca: ValkeyCA, which: "current" | "next", signal: AbortSignal): Promise<Credential> {
    const { certificate, key } = await this.files(ca, signal);
    const names = which === "next" ? ([NEXT_CERTIFICATE, NEXT_KEY] as const) : ([CERTIFICATE, KEY] as const);
    const [crt, pem] = [certificate[names[0]], key[names[1]]];
    if (crt === undefined || pem === undefined) {
      throw new PkiError(`the root of ValkeyCA ${keyOf(ca)} has no ${crt === undefined ? names[0] : names[1]}`);
    }
    return { certificate: decodeCertificate(crt, names[0]), keys: await decodeKeys(pem, names[1]) };
  }

  /** What is in both places now. */
  async files(
    ca: ValkeyCA,
    signal: AbortSignal,
  ): Promise<{ readonly certificate: RootFiles; readonly key: RootFiles }> {
    const [certificate, key] = await Promise.all(namesOf(ca).map(async (name) => this.#read(ca, name, signal)));
    return { certificate: certificate ?? {}, key: key ?? {} };
  }

  /** Wakes with the key of every ValkeyCA whose root changed. */
  readonly source: Source = {
    subscribe: (wake) => {
      const wakeAll = (where: (ca: ValkeyCA, name: string) => boolean) => (name: string) => {
        for (const ca of this.#deps.cas.list()) if (where(ca, name)) wake(keyOf(ca), "normal");
      };
      const bySecret = wakeAll((ca, key) =>
        namesOf(ca).some((name) => key === `${ca.metadata.namespace ?? ""}/${name}`),
      );
      const ends = [
        this.#deps.secrets.subscribe(({ object }) => bySecret(keyOf(object))),
        this.#deps.secrets.onKnown(bySecret),
        this.#deps.store.subscribe(wakeAll((ca, folder) => isInStore(ca) && namesOf(ca).includes(folder))),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
  };

  #follow(ca: ValkeyCA, there: boolean): void {
    const names = there ? namesOf(ca) : [];
    const { namespace } = ca.metadata;
    this.#deps.store.want(keyOf(ca), isInStore(ca) ? names : []);
    this.#deps.secrets.want(keyOf(ca), isInStore(ca) ? [] : names.map((name) => ({ namespace, name })));
  }

  #parts(ca: ValkeyCA): Parts {
    const [certificate, key] = namesOf(ca).map((name) => this.#part(ca, name));
    if (certificate === "unknown" || key === "unknown") return "unknown";
    return { certificate, key };
  }

  #part(ca: ValkeyCA, name: string): RootPart | undefined | "unknown" {
    if (isInStore(ca)) return this.#deps.store.part(name);
    const found = this.#deps.secrets.find({ namespace: ca.metadata.namespace, name });
    if (found.is === "unknown") return "unknown";
    return found.is === "there" ? found.object : undefined;
  }

  async #read(ca: ValkeyCA, name: string, signal: AbortSignal): Promise<RootFiles> {
    if (isInStore(ca)) return this.#deps.store.files(name);
    const secret = await this.#deps.client.find(WHOLE_SECRETS, { namespace: ca.metadata.namespace, name }, { signal });
    return decoded(secret?.data ?? {});
  }
}

function isInStore({ spec }: ValkeyCA): boolean {
  return spec.secretType === "SecretsStore";
}

/** Where the certificate is, then where the key is. */
export function namesOf({ spec }: ValkeyCA): readonly [string, string] {
  return [spec.caCertSecretRef, spec.caKeySecretRef ?? spec.caCertSecretRef];
}
