/** What a cluster's spec refers to: TLS and users, with the Secrets that hold them. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ResolvedClusterSpec } from "../../api/resolve.ts";
import type { ObjectRef } from "../../kube/resource.ts";
import type { ServerCertificateNow } from "../../plan/cluster/view.ts";
import type { Effective } from "../../plan/lifecycle/effective.ts";
import type { References } from "../../plan/lifecycle/form.ts";
import type { ClusterRef } from "../../plan/objects/names.ts";
import type { Given, TlsInput } from "../../plan/objects/types.ts";
import type { ServerCertificates } from "../certificates/server-certificates.ts";
import type { ClusterCaches } from "./caches.ts";

const ACL_KEY = "acl-definitions.yaml";

/** The objects that the names in a spec stand for. */
export function referencesOf(caches: ClusterCaches, namespace: string, spec: ResolvedClusterSpec): References {
  const tls = spec.tls === undefined ? undefined : caches.tls.get({ namespace, name: spec.tls })?.spec;
  const acl = spec.acl === undefined ? undefined : caches.acls.get({ namespace, name: spec.acl })?.spec;
  return { ...(tls === undefined ? {} : { tls }), ...(acl === undefined ? {} : { acl }) };
}

/** What has to be watched for them; Secrets with certificates are watched by whoever judges those. */
export function neededOf({ namespace }: ClusterRef, { acl }: References): readonly ObjectRef[] {
  return acl === undefined ? [] : [{ namespace, name: acl.secretName }];
}

export function aclGiven(
  caches: ClusterCaches,
  cluster: ClusterRef,
  spec: ResolvedClusterSpec,
  { acl }: References,
): Given<string> | undefined {
  if (spec.acl === undefined || acl === undefined) return undefined;
  if (acl.secretType !== "Secret") {
    return {
      missing: `ValkeyClusterAcl ${spec.acl}: this release reads users from Secrets only; use secretType Secret`,
    };
  }
  const found = caches.givenSecrets.find({ namespace: cluster.namespace, name: acl.secretName });
  if (found.is === "unknown") return { missing: `Secret ${acl.secretName} with the users has not been read yet` };
  if (found.is === "absent") {
    return { missing: `Secret ${acl.secretName}, which ValkeyClusterAcl ${spec.acl} names, does not exist: create it` };
  }
  const text = textOf(found.object.data[ACL_KEY]);
  return text === "" ? { missing: `Secret ${acl.secretName} has no ${ACL_KEY}: put the users there` } : { value: text };
}

export interface TlsGiven {
  readonly given: Given<TlsInput> | undefined;
  /** The one to use; undefined while there is none. */
  readonly certificate: ServerCertificateNow | undefined;
}

/** TLS as the cluster runs with it, which may be another one than its spec asks for. */
export function tlsGiven(
  deps: { readonly caches: ClusterCaches; readonly servers: ServerCertificates },
  cluster: ValkeyCluster,
  effective: Effective,
  now: Date,
): TlsGiven {
  const { tls: name } = effective.spec;
  if (name === undefined) return { given: undefined, certificate: undefined };
  const running = { ...cluster, spec: { ...cluster.spec, tls: name } };
  const given = deps.servers.tlsOf(running);
  const tls = deps.caches.tls.get({ namespace: cluster.metadata.namespace, name });
  const { notAfter, thumbprint } = tls === undefined ? {} : deps.servers.verdict(running, tls, now);
  const certificate = notAfter === undefined || thumbprint === undefined ? undefined : { notAfter, thumbprint };
  if (given === undefined || "missing" in given || effective.tls === undefined) return { given, certificate };
  return { given: { value: { ...given.value, spec: effective.tls } }, certificate };
}

function textOf(base64: string | undefined): string {
  return Buffer.from(base64 ?? "", "base64").toString("utf8");
}
