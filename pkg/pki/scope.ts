/**
 * Whom an intermediate may speak for. Name constraints stop at the host of a URI, and all our identities share one: with
 * the intermediate of one deployment somebody could make identities of another, or the operator's. So an intermediate of
 * ours carries a URI itself, and its leaves' identities must be that one or lie below it.
 */
import { alternativeNames } from "./san.ts";
import { BasicConstraintsExtension, type X509Certificate } from "./x509.ts";

/** The first URI of a leaf that an authority above it does not cover. An authority without a URI covers all. */
export function outOfScope(authority: X509Certificate, leaf: X509Certificate): string | undefined {
  if (authority.getExtension(BasicConstraintsExtension)?.ca !== true) return undefined;
  const scopes = alternativeNames(authority).uri;
  if (scopes.length === 0) return undefined;
  return alternativeNames(leaf).uri.find(
    (uri) => !scopes.some((scope) => uri === scope || uri.startsWith(`${scope}/`)),
  );
}
