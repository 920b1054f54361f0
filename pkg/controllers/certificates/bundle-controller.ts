/** Keeps the intermediate of every ValkeyCertificateBundle in its Secrets. */
import type { ValkeyCertificateBundle } from "../../api/certificate-bundle.ts";
import type { Applier } from "../../kube/apply.ts";
import type { Cache } from "../../kube/cache.ts";
import { type ActContext, type Controller, type Told, watches } from "../../kube/controller.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { controllerOf, controllerReference } from "../../kube/owner.ts";
import { keyOf } from "../../kube/resource.ts";
import { createIntermediate, encodeCertificates, encodeKey } from "../../pki/pki.ts";
import { type BundleInput, type BundleStep, planBundle } from "../../plan/certificates/bundle.ts";
import { readyCondition } from "../../plan/certificates/condition.ts";
import {
  type IntermediateWish,
  mtlsIntermediate,
  type Subject,
  tlsIntermediate,
} from "../../plan/certificates/requests.ts";
import type { AuthorityView, CertificateView } from "../../plan/certificates/view.ts";
import { CR_ANNOTATION } from "../../plan/objects/names.ts";
import type { Roots, RootUse } from "../ca/roots.ts";
import { VALKEY_BUNDLES } from "../resources.ts";
import {
  CERTIFICATE_FILE,
  CERTIFICATE_LABEL,
  type CertificateSecret,
  dataOf,
  KEY_FILE,
  ROOTS_FILE,
  requestHash,
  type SecretData,
  viewOf,
} from "./certificate-secret.ts";
import { OPERATOR_BUNDLE } from "./operator-bundle.ts";
import { readOwn, type SecretWish, type SecretWriterDeps, writeSecret } from "./secret-writer.ts";

export interface BundleDeps extends SecretWriterDeps {
  readonly applier: Applier;
  readonly recorder: Pick<EventRecorder, "record">;
  /** The operator's own. */
  readonly namespace: string;
  readonly bundles: Cache<ValkeyCertificateBundle>;
  readonly secrets: Cache<CertificateSecret>;
  readonly roots: Roots;
}

interface BundleView {
  readonly authority: AuthorityView;
  readonly held: CertificateView;
}

export function bundleController(deps: BundleDeps): Controller<ValkeyCertificateBundle, BundleView, BundleStep> {
  return {
    name: "bundle",
    workers: 8,
    sources: [
      watches(deps.bundles, (bundle) => [keyOf(bundle)]),
      watches(deps.secrets, (secret) => usersOf(deps, secret).map(keyOf)),
      rootChanges(deps),
    ],
    observe: (key) => {
      const bundle = deps.bundles.byKey(key);
      if (bundle === undefined || bundle.metadata.deletionTimestamp !== undefined) return undefined;
      const view = { authority: deps.roots.authority(useOf(bundle)), held: intermediateOf(deps.secrets, bundle) };
      return { wanted: bundle, view };
    },
    plan: (bundle, view, now) => planBundle(inputOf(deps, bundle, view), now),
    act: async (step, context) => {
      const bundle = deps.bundles.byKey(context.key);
      if (bundle !== undefined) await issue(deps, bundle, step, context);
    },
    report: (told, context) => report(deps, told, context),
  };
}

/** Every bundle under a ValkeyCA whose root changed. */
function rootChanges(deps: BundleDeps) {
  return {
    subscribe: (wake: (key: string, priority: "normal") => void) =>
      deps.roots.source.subscribe((caKey) => {
        for (const bundle of deps.bundles.list()) {
          const ca = deps.roots.caOf(useOf(bundle));
          if (ca !== undefined && keyOf(ca) === caKey) wake(keyOf(bundle), "normal");
        }
      }),
  };
}

/** Of leaves there are thousands, and no bundle is kept in them. */
function usersOf({ bundles }: BundleDeps, secret: CertificateSecret): readonly ValkeyCertificateBundle[] {
  if (secret.metadata.labels?.[CERTIFICATE_LABEL] !== "intermediate") return [];
  return bundles.list().filter((bundle) => uses(bundle, secret));
}

function uses({ metadata, spec }: ValkeyCertificateBundle, secret: CertificateSecret): boolean {
  const { name, namespace } = secret.metadata;
  return metadata.namespace === namespace && (spec.certSecretRef === name || spec.keySecretRef === name);
}

export function useOf({ metadata, spec }: ValkeyCertificateBundle): RootUse {
  return { caRef: spec.caRef, namespace: metadata.namespace ?? "", purpose: spec.purpose };
}

/** What its Secrets hold now. */
export function intermediateOf(secrets: Cache<CertificateSecret>, bundle: ValkeyCertificateBundle): CertificateView {
  const { namespace } = bundle.metadata;
  const part = (name: string) => secrets.get({ namespace, name });
  return viewOf(part(bundle.spec.certSecretRef), part(bundle.spec.keySecretRef));
}

function inputOf(deps: BundleDeps, bundle: ValkeyCertificateBundle, view: BundleView): BundleInput {
  const { held } = view;
  // Whom it is for cannot be told now, and whoever takes it back needs what it was made for then.
  const kept = isOrphaned(bundle) && held.found === "certificate" ? held.request : undefined;
  return { spec: bundle.spec, ...view, request: kept ?? requestHash(wishOf(deps, bundle)) };
}

/** Left behind by `kubectl delete --cascade=orphan`: the servers of its cluster go on with what it has issued. */
function isOrphaned(bundle: ValkeyCertificateBundle): boolean {
  return controllerOf(bundle) === undefined && bundle.metadata.annotations?.[CR_ANNOTATION] !== undefined;
}

/** Whom a bundle is for is told by its owner, never by its name: names can be chosen. */
function wishOf(deps: BundleDeps, bundle: ValkeyCertificateBundle): IntermediateWish {
  const { name, namespace = "" } = bundle.metadata;
  const owner = controllerOf(bundle);
  if (bundle.spec.purpose === "tls") return tlsIntermediate({ name: owner?.name ?? name, namespace });
  return mtlsIntermediate(subjectOf(deps, bundle));
}

function subjectOf(deps: BundleDeps, bundle: ValkeyCertificateBundle): Subject {
  const { name, namespace = "" } = bundle.metadata;
  if (namespace === deps.namespace && name === OPERATOR_BUNDLE) return { role: "operator", namespace };
  const { kind = bundle.kind, name: of = name } = controllerOf(bundle) ?? {};
  return { role: "deployment", namespace, kind: kind.toLowerCase(), name: of };
}

async function issue(deps: BundleDeps, bundle: ValkeyCertificateBundle, step: BundleStep, context: ActContext) {
  const { signal, log } = context;
  const ca = deps.roots.caOf(useOf(bundle));
  if (ca === undefined) return;
  const root = await deps.roots.signer(ca, "current", signal);
  const { scope, ...wish } = wishOf(deps, bundle);
  const made = await createIntermediate(root, { ...wish, ...(scope === undefined ? {} : { scope }), now: new Date() });
  const certificate = {
    [CERTIFICATE_FILE]: dataOf(encodeCertificates([made.certificate])),
    [ROOTS_FILE]: dataOf(encodeCertificates([root.certificate])),
  };
  const key = { [KEY_FILE]: dataOf(await encodeKey(made.keys.privateKey)) };
  const { certSecretRef, keySecretRef } = bundle.spec;
  if (certSecretRef === keySecretRef)
    await write(deps, bundle, { name: keySecretRef, data: { ...certificate, ...key } }, context);
  else {
    // Cut off in between, the key fits no certificate, which the next look repairs.
    await write(deps, bundle, { name: keySecretRef, data: key }, context);
    await write(deps, bundle, { name: certSecretRef, data: certificate }, context);
  }
  log.info({ why: step.why }, "issued an intermediate");
  deps.recorder.record({
    regarding: { apiVersion: bundle.apiVersion, kind: bundle.kind, ...refOf(bundle) },
    type: "Normal",
    reason: "IntermediateIssued",
    action: "Issue",
    note: `issued an intermediate certificate into Secret ${certSecretRef}: ${step.why}`,
  });
}

async function write(
  deps: BundleDeps,
  bundle: ValkeyCertificateBundle,
  { name, data }: { readonly name: string; readonly data: SecretData },
  context: ActContext,
): Promise<void> {
  const { namespace = "", labels = {}, annotations = {} } = bundle.metadata;
  const owner = controllerReference(VALKEY_BUNDLES, bundle);
  const there = await readOwn(deps, { namespace, name }, owner, context.signal);
  const wish: SecretWish = {
    ref: { namespace, name },
    kind: "intermediate",
    request: requestHash(wishOf(deps, bundle)),
    labels: ownOf(labels),
    annotations: ownOf(annotations),
    owner,
    data,
  };
  await writeSecret(deps, wish, there, context);
}

/** Marks of the deployment go along; what tools have put on the bundle does not. */
function ownOf(marks: Readonly<Record<string, string>>): Record<string, string> {
  const kept = /^(valkey\.io\/(cr|kind)|app\.kubernetes\.io\/(name|instance|managed-by))$/;
  return Object.fromEntries(Object.entries(marks).filter(([name]) => kept.test(name)));
}

function refOf({ metadata }: ValkeyCertificateBundle) {
  const { name, namespace, uid } = metadata;
  return { name, namespace, uid };
}

async function report(
  deps: BundleDeps,
  { wanted: bundle, view, failures }: Told<ValkeyCertificateBundle, BundleView, BundleStep>,
  context: ActContext,
): Promise<void> {
  const now = new Date();
  const { status } = planBundle(inputOf(deps, bundle, view), now);
  const failure = failures[0]?.error;
  const failed = failure instanceof Error ? { phase: "Error" as const, message: failure.message } : {};
  const told = { ...status, ...failed };
  const condition = readyCondition(bundle.status?.conditions, now, {
    ready: told.phase === "Ready" || told.phase === "Expiring",
    reason: told.phase ?? "Pending",
    message: told.message ?? "",
    generation: bundle.metadata.generation,
  });
  const body = { ...told, observedGeneration: bundle.metadata.generation, conditions: [condition] };
  await deps.applier.applyStatus(VALKEY_BUNDLES, bundle, body, context);
}
