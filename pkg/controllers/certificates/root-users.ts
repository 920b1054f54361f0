/** How far those who trust and use a root's certificates are: what the Secrets hold, and what handshakes have told. */
import type { ValkeyCA } from "../../api/ca.ts";
import type { ValkeyNode } from "../../api/node.ts";
import type { Cache } from "../../kube/cache.ts";
import type { Source } from "../../kube/controller.ts";
import { keyOf, keyOfRef } from "../../kube/resource.ts";
import type { RootUsers, RootView } from "../../plan/ca.ts";
import type { Held } from "../../plan/certificates/view.ts";
import { identitySecretName } from "../../plan/objects/names.ts";
import type { Roots } from "../ca/roots.ts";
import { CERTIFICATE_LABEL, type CertificateSecret } from "./certificate-secret.ts";
import { operatorSecretRef } from "./operator-bundle.ts";
import type { ProcessSights } from "./process-sights.ts";

export interface RootUsersDeps {
  /** The operator's own. */
  readonly namespace: string;
  readonly cas: Cache<ValkeyCA>;
  readonly nodes: Cache<ValkeyNode>;
  readonly secrets: Cache<CertificateSecret>;
  readonly roots: Roots;
  readonly sights: ProcessSights;
}

const NOBODY: RootUsers = { distrusting: [], behind: [], operatorSince: undefined };

/** Only looked for while a rotation is under way. */
export function rootUsers(deps: RootUsersDeps, ca: ValkeyCA, root: RootView): RootUsers {
  if (root.found !== "root" || (root.next === undefined && root.old.length === 0)) return NOBODY;
  const trusted = new Set(deps.roots.trusted(ca).map(({ thumbprint }) => thumbprint));
  const mine = deps.secrets.list().flatMap((secret) => {
    const held = secret.certificate;
    return held?.found === "certificate" && held.trusts.some((each) => trusted.has(each)) ? [{ secret, held }] : [];
  });
  const next = root.next?.thumbprint;
  const operatorKey = keyOfRef(operatorSecretRef(deps.namespace));
  return {
    distrusting: next === undefined ? [] : mine.filter((user) => distrusts(deps, user, next)).map(nameOf),
    behind: mine.filter((user) => isBehind(deps, user, root.thumbprint)).map(nameOf),
    operatorSince: mine.find(({ secret }) => keyOf(secret) === operatorKey)?.held.trustSince,
  };
}

interface User {
  readonly secret: CertificateSecret;
  readonly held: Held;
}

function nameOf({ secret }: User): string {
  return `Secret ${keyOf(secret)}`;
}

/** An intermediate trusts nobody: it is beside its root, and the root's successor signs another one. */
function distrusts(deps: RootUsersDeps, { secret, held }: User, next: string): boolean {
  if (secret.metadata.labels?.[CERTIFICATE_LABEL] === "intermediate") return false;
  if (!held.trusts.includes(next)) return true;
  const sight = sightOf(deps, secret);
  return sight !== undefined && !sight.accepts.includes(next);
}

function isBehind(deps: RootUsersDeps, { secret, held }: User, current: string): boolean {
  if (held.root !== current) return true;
  const sight = sightOf(deps, secret);
  return sight !== undefined && sight.shows !== held.thumbprint;
}

/** Of the process that uses an identity, if there is one. */
function sightOf({ nodes, sights }: RootUsersDeps, { metadata }: CertificateSecret) {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === "ValkeyNode");
  if (owner === undefined || metadata.name !== identitySecretName(owner.name)) return undefined;
  const node = nodes.get({ namespace: metadata.namespace, name: owner.name });
  return node === undefined ? undefined : sights.of(node);
}

/** Wakes every ValkeyCA with a rotation under way when a Secret or a sight has changed. */
export function rootUsersChanged(deps: RootUsersDeps): Source {
  return {
    subscribe: (wake) => {
      const changed = () => {
        for (const ca of deps.cas.list()) if (isRotating(deps.roots.view(ca))) wake(keyOf(ca), "low");
      };
      const ends = [deps.secrets.subscribe(changed), deps.sights.subscribe(changed)];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

function isRotating(root: RootView): boolean {
  return root.found === "root" && (root.next !== undefined || root.old.length > 0);
}
