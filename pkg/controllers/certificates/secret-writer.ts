/**
 * Writes Secrets with certificates. They are not written by the Applier, which compares with the cache: the cache does
 * not hold what is in them, and every writing of a certificate is meant.
 */
import { FIELD_MANAGER } from "../../kube/apply.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { ActContext } from "../../kube/controller.ts";
import type { Expectations } from "../../kube/expectations.ts";
import { controllerOf } from "../../kube/owner.ts";
import { type KubeObject, keyOfRef, type ObjectRef, type OwnerReference } from "../../kube/resource.ts";
import {
  CERTIFICATE_FILE,
  CERTIFICATE_LABEL,
  CERTIFICATE_SECRETS,
  type CertificateKind,
  KEY_FILE,
  REQUEST_ANNOTATION,
  type SecretData,
  WHOLE_SECRETS,
  type WholeSecret,
} from "./certificate-secret.ts";

export interface SecretWriterDeps {
  readonly client: Pick<KubeClient, "find" | "apply">;
  readonly expectations: Expectations;
}

export interface SecretWish {
  readonly ref: Required<ObjectRef>;
  readonly kind: CertificateKind;
  readonly request: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly owner: OwnerReference;
  readonly data: SecretData;
}

/** A Secret of the name is there and is somebody else's. */
export class ForeignSecret extends Error {
  override readonly name = "ForeignSecret";
}

type Writing = Pick<ActContext, "owner" | "guard" | "signal">;

/** What is there now, with its content; undefined when there is none. Throws a ForeignSecret when it is not ours. */
export async function readOwn(
  deps: SecretWriterDeps,
  ref: Required<ObjectRef>,
  owner: OwnerReference,
  signal: AbortSignal,
): Promise<WholeSecret | undefined> {
  const there = await deps.client.find(WHOLE_SECRETS, ref, { signal });
  if (there === undefined || isOurs(there, owner)) return there;
  throw new ForeignSecret(
    `Secret ${keyOfRef(ref)} was not made by this operator and is left as it is: delete it, or have another name used`,
  );
}

/** Either mark is enough: a stranger who takes labels or owners away does not make it a stranger's. */
function isOurs(secret: KubeObject, owner: OwnerReference): boolean {
  const theirs = controllerOf(secret);
  if (theirs !== undefined) return theirs.uid === owner.uid;
  return secret.metadata.annotations?.[REQUEST_ANNOTATION] !== undefined;
}

/** `there` is what was read before: its uid keeps the write from running over a successor. */
export async function writeSecret(
  deps: SecretWriterDeps,
  wish: SecretWish,
  there: WholeSecret | undefined,
  { owner, guard, signal }: Writing,
): Promise<void> {
  const { name, namespace } = wish.ref;
  const body = {
    type: CERTIFICATE_FILE in wish.data && KEY_FILE in wish.data ? "kubernetes.io/tls" : "Opaque",
    metadata: {
      name,
      namespace,
      ...(there === undefined ? {} : { uid: there.metadata.uid }),
      labels: { ...wish.labels, [CERTIFICATE_LABEL]: wish.kind },
      annotations: { ...wish.annotations, [REQUEST_ANNOTATION]: wish.request },
      ownerReferences: [wish.owner],
    },
    data: wish.data,
  };
  guard();
  const options = { fieldManager: FIELD_MANAGER, force: there !== undefined, signal };
  const written = await deps.client.apply(CERTIFICATE_SECRETS, body, options);
  deps.expectations.wrote(owner, CERTIFICATE_SECRETS, written);
}
