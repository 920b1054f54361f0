/** TLS and users of a cluster, as its status tells them. */
import type { ValkeyClusterStatus } from "../../api/cluster-status.ts";
import type { Saying } from "./conditions.ts";
import type { ClusterNow, StatusInput } from "./facts.ts";
import type { ClusterView } from "./view.ts";

const SOON_MS = 7 * 24 * 3_600_000;
/** Users that the operator makes for itself. */
const OWN_USER = /^valkey-(agent|replication|exporter)$/;

export function tlsStatus(input: StatusInput, now: ClusterNow): NonNullable<ValkeyClusterStatus["tls"]> {
  const { effective, serverCertificate } = input.view;
  if (effective.spec.tls === undefined) return { enabled: false };
  const shown = shownThumbprint(input.view, now);
  const life =
    serverCertificate === undefined
      ? { certificateStatus: "Missing" as const }
      : lifeStatus(serverCertificate.notAfter, input.now);
  return { enabled: true, ...life, ...(shown === undefined ? {} : { thumbprint: shown }) };
}

function lifeStatus(notAfter: Date, now: Date) {
  const left = notAfter.getTime() - now.getTime();
  const certificateStatus = left <= 0 ? "Expired" : left < SOON_MS ? "Expiring" : "Valid";
  return { certificateStatus, notAfter: notAfter.toISOString() } as const;
}

/** An agent calls secrets applied when its server has shown the certificate; until all have, the one before is told. */
function shownThumbprint({ serverCertificate, cluster }: ClusterView, { secretsApplied }: ClusterNow) {
  return (secretsApplied ? serverCertificate?.thumbprint : undefined) ?? cluster.status?.tls?.thumbprint;
}

export function aclStatus(
  { view }: StatusInput,
  { secretsApplied }: ClusterNow,
): NonNullable<ValkeyClusterStatus["acl"]> {
  const { effective, desired } = view;
  if (effective.spec.acl === undefined) return { enabled: false };
  const names = (desired.secrets?.aclLines ?? []).map((line) => line.split(" ")[1] ?? "");
  const users = names
    .filter((name) => name !== "" && !OWN_USER.test(name))
    .slice(0, 256)
    .map((name) => ({ name, status: secretsApplied ? ("Active" as const) : ("Pending" as const) }));
  return { enabled: true, synced: secretsApplied, users };
}

export function securitySayings({ view }: StatusInput, { secretsApplied }: ClusterNow): Saying[] {
  const { spec } = view.effective;
  const trouble = (reason: string) => view.desired.troubles.find((each) => each.reason.startsWith(reason));
  return [
    about(
      { type: "TLSConfigured", on: spec.tls !== undefined, done: secretsApplied, trouble: trouble("Tls") },
      TLS_WORDS,
    ),
    about({ type: "ACLSynced", on: spec.acl !== undefined, done: secretsApplied, trouble: trouble("Acl") }, ACL_WORDS),
  ];
}

interface Words {
  readonly off: readonly [reason: string, message: string];
  readonly done: readonly [reason: string, message: string];
  readonly waiting: readonly [reason: string, message: string];
}

const TLS_WORDS: Words = {
  off: ["NotAskedFor", "spec.tls names no ValkeyClusterTls: clients talk to the servers in clear"],
  done: ["InUse", "every server uses the newest certificate"],
  waiting: ["Applying", "not every server has the newest certificate yet"],
};

const ACL_WORDS: Words = {
  off: [
    "Open",
    "the cluster is open: no password. Whoever reaches it may read and change everything; spec.acl names the users",
  ],
  done: ["InUse", "every server has the newest users"],
  waiting: ["Applying", "not every server has the newest users yet"],
};

interface Matter {
  readonly type: string;
  readonly on: boolean;
  readonly done: boolean;
  readonly trouble: { readonly reason: string; readonly message: string } | undefined;
}

function about({ type, on, done, trouble }: Matter, words: Words): Saying {
  if (trouble !== undefined) return { type, status: "False", reason: trouble.reason, message: trouble.message };
  const [reason, message] = on ? (done ? words.done : words.waiting) : words.off;
  return { type, status: on && done ? "True" : "False", reason, message };
}
