/** Issues the operator's own identity, by the same rules as those of agents. */
import type { ValkeyCertificateBundle } from "../../api/certificate-bundle.ts";
import { DEFAULTS_NAME, type ValkeyClusterDefaults } from "../../api/cluster-defaults.ts";
import { BUILT_IN_DEFAULTS } from "../../api/defaults.ts";
import { milliseconds } from "../../api/duration.ts";
import { resolveSpec } from "../../api/resolve.ts";
import type { Cache } from "../../kube/cache.ts";
import type { KubeClient } from "../../kube/client.ts";
import { type ActContext, type Controller, type Plan, watches } from "../../kube/controller.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { controllerReference } from "../../kube/owner.ts";
import { defineResource } from "../../kube/resource.ts";
import { type LeafInput, type LeafStep, planLeaves } from "../../plan/certificates/leaves.ts";
import { operatorWish } from "../../plan/certificates/requests.ts";
import { OPERATOR_IDENTITY_SECRET, ROOT_CA_NAME } from "../../plan/objects/names.ts";
import { VALKEY_BUNDLES } from "../resources.ts";
import { intermediateOf, useOf } from "./bundle-controller.ts";
import { type CertificateSecret, requestHash, viewOf } from "./certificate-secret.ts";
import { changeTrust, issueLeaves, type LeafIssuerDeps, type LeafTarget } from "./leaf-issuer.ts";
import { OPERATOR_BUNDLE, OPERATOR_LABELS, operatorBundle, operatorSecretRef } from "./operator-bundle.ts";

export interface OperatorControllerDeps extends LeafIssuerDeps {
  readonly client: KubeClient;
  /** The operator's own. */
  readonly namespace: string;
  readonly bundles: Cache<ValkeyCertificateBundle>;
  readonly secrets: Cache<CertificateSecret>;
  readonly defaults: Cache<ValkeyClusterDefaults>;
}

type OperatorStep = LeafStep | { readonly do: "make-bundle"; readonly lane: "bundle" };

const KEY = "operator";

export function operatorIdentityController(
  deps: OperatorControllerDeps,
): Controller<undefined, LeafInput | undefined, OperatorStep> {
  const { namespace } = deps;
  const mine = ({ metadata }: { readonly metadata: { readonly namespace?: string | undefined } }) =>
    metadata.namespace === namespace ? [KEY] : [];
  return {
    name: "operator-identity",
    sources: [
      watches(deps.bundles, mine),
      watches(deps.secrets, mine),
      watches(deps.defaults, mine),
      { subscribe: (wake) => deps.roots.source.subscribe(() => wake(KEY, "normal")) },
      { subscribe: beginAtOnce },
    ],
    observe: () => ({ wanted: undefined, view: viewFrom(deps) }),
    plan: (_wanted, view, now) => planOperator(view, now),
    act: (step, context) => act(deps, step, context),
  };
}

/** With nothing in any cache there would be no change to wake it. */
function beginAtOnce(wake: (key: string, priority: "low") => void): () => void {
  wake(KEY, "low");
  return () => undefined;
}

function planOperator(view: LeafInput | undefined, now: Date): Plan<OperatorStep> {
  if (view === undefined) return { steps: [{ do: "make-bundle", lane: "bundle" }], holds: [] };
  return planLeaves(view, now);
}

function bundleOf(deps: OperatorControllerDeps): ValkeyCertificateBundle | undefined {
  return deps.bundles.get({ namespace: deps.namespace, name: OPERATOR_BUNDLE });
}

/** It lives as long as what agents get by default, so that whoever shortens that tries both. */
function mtlsOf({ defaults, namespace }: OperatorControllerDeps) {
  const own = defaults.get({ namespace, name: DEFAULTS_NAME });
  return resolveSpec(BUILT_IN_DEFAULTS, own?.spec, undefined, {}).operatorMtls;
}

function wishOf(deps: OperatorControllerDeps) {
  return operatorWish(deps.namespace, milliseconds(mtlsOf(deps).clientCertValidity));
}

function viewFrom(deps: OperatorControllerDeps): LeafInput | undefined {
  const bundle = bundleOf(deps);
  if (bundle === undefined) return undefined;
  const secret = deps.secrets.get(operatorSecretRef(deps.namespace));
  return {
    deployment: "the operator",
    authority: deps.roots.authority(useOf(bundle)),
    intermediate: intermediateOf(deps.secrets, bundle),
    rotateBeforePercent: mtlsOf(deps).rotateBeforePercent,
    members: [
      {
        name: OPERATOR_IDENTITY_SECRET,
        request: requestHash(wishOf(deps)),
        held: viewOf(secret, secret),
        process: undefined,
      },
    ],
  };
}

async function act(deps: OperatorControllerDeps, step: OperatorStep, context: ActContext): Promise<void> {
  if (step.do === "make-bundle") return makeBundle(deps, context);
  const bundle = bundleOf(deps);
  const ca = bundle === undefined ? undefined : deps.roots.caOf(useOf(bundle));
  if (bundle === undefined || ca === undefined || step.do === "verify-processes") return;
  const job = { ca, bundle, targets: [targetOf(deps, bundle)], trust: step.roots, written: async () => undefined };
  const intermediate = intermediateOf(deps.secrets, bundle);
  if (step.do === "change-trust") return changeTrust(deps, job, context);
  if (intermediate.found !== "certificate") return;
  await issueLeaves(deps, { ...job, intermediate: intermediate.thumbprint }, context);
  context.log.info({ root: ROOT_CA_NAME }, "issued the operator's identity");
}

function targetOf(deps: OperatorControllerDeps, bundle: ValkeyCertificateBundle): LeafTarget {
  return {
    name: OPERATOR_IDENTITY_SECRET,
    ref: operatorSecretRef(deps.namespace),
    kind: "identity",
    wish: wishOf(deps),
    labels: OPERATOR_LABELS,
    annotations: {},
    owner: controllerReference(VALKEY_BUNDLES, bundle),
  };
}

async function makeBundle({ client, namespace }: OperatorControllerDeps, context: ActContext): Promise<void> {
  context.guard();
  try {
    await client.create(defineResource(VALKEY_BUNDLES), operatorBundle(namespace), { signal: context.signal });
  } catch (error) {
    if (!isKubeError(error, "already-exists")) throw error;
  }
}
