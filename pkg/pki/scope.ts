/**
 * Whom an intermediate may speak for. Name constraints stop at the host of a URI, and all our identities share one: with
 * the intermediate of one deployment somebody could make identities of another, or the operator's. So an intermediate of
 * ours carries a URI itself, and its leaves' identities must be that one or lie below it.
 */
import type { CertificateView } from "./certificate-view.ts";

type Named = Pick<CertificateView, "isAuthority" | "names">;

/** The first URI of a leaf that an authority above it does not cover. An authority without a URI covers all. */
export function outOfScope(authority: Named, leaf: Pick<Named, "names">): string | undefined {
  const scopes = authority.isAuthority ? authority.names.uri : [];
  if (scopes.length === 0) return undefined;
  return leaf.names.uri.find((uri) => !scopes.some((scope) => uri === scope || uri.startsWith(`${scope}/`)));
}
