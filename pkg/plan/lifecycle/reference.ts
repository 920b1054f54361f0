/** The ValkeyClusterTls and ValkeyClusterAcl of a running cluster: which ones, and what of them counts. */
import type { ValkeyClusterAclSpec } from "../../api/cluster-acl.ts";
import type { ValkeyClusterTlsSpec } from "../../api/cluster-tls.ts";
import type { NamedSpec } from "./form.ts";
import { heldReason } from "./held-reason.ts";
import type { HeldChange } from "./hold.ts";

interface Asked<Spec> {
  /** The name in the spec. */
  readonly asked: string | undefined;
  /** What the object of that name says; undefined when it does not exist. */
  readonly there: Spec | undefined;
  readonly running: NamedSpec<Spec> | null | undefined;
}

interface EffectiveReference<Spec> {
  readonly name: string | undefined;
  readonly spec: Spec | undefined;
  readonly holds: readonly HeldChange[];
}

export function effectiveTls(asked: Asked<ValkeyClusterTlsSpec>): EffectiveReference<ValkeyClusterTlsSpec> {
  return effectiveReference(asked, { field: "tls", kind: "ValkeyClusterTls", what: "change TLS", free: FREE_OF_TLS });
}

/** The users themselves stand in the Secret that it names, and are not part of the form. */
export function effectiveAcl(asked: Asked<ValkeyClusterAclSpec>): EffectiveReference<ValkeyClusterAclSpec> {
  return effectiveReference(asked, {
    field: "acl",
    kind: "ValkeyClusterAcl",
    what: "change the users' source",
    free: [],
  });
}

/** Lives of certificates and times for restarts do not touch the servers. */
const FREE_OF_TLS = ["internalCerts", "tlsRefreshRestartWindow"] as const;

interface ReferenceWords {
  readonly field: "tls" | "acl";
  readonly kind: string;
  readonly what: string;
  /** Fields that may change at any time. */
  readonly free: readonly string[];
}

/** An object that was deleted under a running cluster is missed elsewhere; here it counts as it was. */
function effectiveReference<Spec extends object>(
  { asked, there, running }: Asked<Spec>,
  words: ReferenceWords,
): EffectiveReference<Spec> {
  if (running === undefined) return { name: asked, spec: there, holds: [] };
  if (running === null || asked !== running.name) return otherName(asked, running, words);
  if (there === undefined) return { ...running, holds: [] };
  const { free } = words;
  const changed = changedFields(running.spec, there).filter((field) => !free.includes(field));
  return {
    name: asked,
    spec: changed.length === 0 ? there : { ...running.spec, ...pick(there, free) },
    holds: changed.length === 0 ? [] : [contentHold(asked, changed, words)],
  };
}

function otherName<Spec>(
  asked: string | undefined,
  running: NamedSpec<Spec> | null,
  { field, what }: ReferenceWords,
): EffectiveReference<Spec> {
  const runs =
    running === null ? `the cluster runs without ${field}` : `the cluster runs with ${field} ${running.name}`;
  const holds =
    asked === running?.name
      ? []
      : [{ name: `${field}-is-fixed`, field, reason: heldReason({ runs, field, what, asked, back: running?.name }) }];
  return { name: running?.name, spec: running?.spec, holds };
}

function contentHold(name: string, changed: readonly string[], { field, kind, what }: ReferenceWords): HeldChange {
  const fields = changed.map((one) => `spec.${one}`).join(", ");
  return {
    name: `${field}-is-fixed`,
    field,
    reason: `the cluster runs with ${kind} ${name} as it was, its ${fields} changed: this release cannot ${what} of a running cluster, so nothing was changed; to clear this, set ${fields} of ${kind} ${name} back`,
  };
}

function changedFields(before: object, after: object): string[] {
  const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const fields = new Set([...old.keys(), ...now.keys()]);
  return [...fields].filter((field) => canonical(old.get(field)) !== canonical(now.get(field))).toSorted();
}

function pick(from: object, fields: readonly string[]): object {
  return Object.fromEntries(Object.entries(from).filter(([field]) => fields.includes(field)));
}

/** Equal for equal content, whatever the order of keys; null and absent are the same. */
function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
