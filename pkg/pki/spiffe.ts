/**
 * Who a peer is, as a SPIFFE URI in its certificate:
 *
 *     spiffe://<trust domain>/ns/<namespace>/<kind>/<name>/node/<node>   the agent of one Valkey node
 *     spiffe://<trust domain>/ns/<namespace>/operator                    the operator that runs in that namespace
 *
 * Parsing is strict and by hand: a URL parser would decode, lower-case and drop parts, and two different texts must
 * never be one identity.
 */

export interface NodeIdentity {
  readonly role: "node";
  readonly trustDomain: string;
  readonly namespace: string;
  /** The owner's kind in lower case: `valkeycluster`. */
  readonly kind: string;
  /** The owner's name. */
  readonly name: string;
  readonly node: string;
}

export interface OperatorIdentity {
  readonly role: "operator";
  readonly trustDomain: string;
  /** Where the operator runs: two operators of one Kubernetes cluster are two identities. */
  readonly namespace: string;
}

export type SpiffeId = NodeIdentity | OperatorIdentity;

export type SpiffeResult =
  | { readonly ok: true; readonly id: SpiffeId }
  | { readonly ok: false; readonly reason: string };

/** The SPIFFE standard's own limit on a whole id. */
const LONGEST_ID = 2048;
const LONGEST_SHOWN = 120;

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const TRUST_DOMAIN = /^[a-z0-9._-]{1,255}$/;
const NAMESPACE = new RegExp(`^${LABEL}$`);
const KIND = /^[a-z][a-z0-9]{0,62}$/;
const NAME = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`);

export function parseSpiffeId(text: string): SpiffeResult {
  if (text.length > LONGEST_ID) return no(text, `is longer than ${LONGEST_ID} characters`);
  const match = /^spiffe:\/\/([^/]*)\/ns\/([^/]*)\/(?:(operator)|([^/]*)\/([^/]*)\/node\/([^/]*))$/.exec(text);
  if (match === null) return no(text, "has not the form spiffe://<trust domain>/ns/<namespace>/…");
  const [, trustDomain = "", namespace = "", operator, kind = "", name = "", node = ""] = match;
  const id: SpiffeId =
    operator === undefined
      ? { role: "node", trustDomain, namespace, kind, name, node }
      : { role: "operator", trustDomain, namespace };
  const wrong = problemOf(id);
  return wrong === undefined ? { ok: true, id } : no(text, wrong);
}

/** Throws a RangeError for parts that no parser would give back: such an id must never reach a certificate. */
export function formatSpiffeId(id: SpiffeId): string {
  const wrong = problemOf(id);
  if (wrong !== undefined) throw new RangeError(`cannot make a SPIFFE id: it ${wrong}`);
  const base = `spiffe://${id.trustDomain}/ns/${id.namespace}`;
  return id.role === "operator" ? `${base}/operator` : `${base}/${id.kind}/${id.name}/node/${id.node}`;
}

/** Whether two nodes belong to the same deployment: agents answer nobody else's. */
export function sameDeployment(a: NodeIdentity, b: NodeIdentity): boolean {
  return a.trustDomain === b.trustDomain && a.namespace === b.namespace && a.kind === b.kind && a.name === b.name;
}

function problemOf(id: SpiffeId): string | undefined {
  if (!TRUST_DOMAIN.test(id.trustDomain)) return "has a bad trust domain (a-z, 0-9, '.', '-' and '_')";
  if (!NAMESPACE.test(id.namespace)) return "has a bad namespace (a DNS label)";
  if (id.role === "operator") return undefined;
  if (!KIND.test(id.kind)) return "has a bad kind (lower-case letters and digits)";
  if (!NAME.test(id.name)) return "has a bad name (a DNS name)";
  if (!NAME.test(id.node)) return "has a bad node (a DNS name)";
  return undefined;
}

function no(text: string, what: string): SpiffeResult {
  const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  return { ok: false, reason: `${JSON.stringify(shown)} ${what}` };
}
