/** The steps of a deployment's plan, done. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { Applier, ApplyOutcome } from "../../kube/apply.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { ActContext } from "../../kube/controller.ts";
import { SECRETS } from "../../kube/resource.ts";
import type { DeploymentStep } from "../../plan/certificates/deployment.ts";
import type { DesiredObject } from "../../plan/objects/types.ts";
import { VALKEY_BINDINGS, VALKEY_BUNDLES } from "../resources.ts";
import { intermediateOf, useOf } from "./bundle-controller.ts";
import { CERTIFICATE_LABEL } from "./certificate-secret.ts";
import { clusterBinding, clusterBundles } from "./deployment-objects.ts";
import { push, type VerifyDeps, verify } from "./deployment-verify.ts";
import { bundleFor, type Purpose, type Target, targetsFor, tlsFor } from "./deployment-view.ts";
import { changeTrust, issueLeaves, type LeafIssuerDeps, type LeafJob } from "./leaf-issuer.ts";
import { sideBySide } from "./side-by-side.ts";

export interface DeploymentDeps extends VerifyDeps, LeafIssuerDeps {
  readonly client: KubeClient;
  readonly applier: Applier;
}

export async function actOnDeployment(
  deps: DeploymentDeps,
  cluster: ValkeyCluster,
  step: DeploymentStep,
  context: ActContext,
): Promise<void> {
  switch (step.do) {
    case "apply-bundles":
      return applyBundles(deps, cluster, step.names, context);
    case "apply-binding": {
      const wanted = clusterBinding(cluster, deps.specs.of(cluster), step.spec);
      const live = deps.bindings.get(wanted.metadata);
      return own(wanted, await deps.applier.apply(VALKEY_BINDINGS, wanted, { ...context, live }));
    }
    case "mend-marks":
      return mendMarks(deps, chosen(deps, cluster, step.purpose, step.names), context);
    case "leaves":
      return actOnLeaves(deps, cluster, step, context);
  }
}

async function applyBundles(
  deps: DeploymentDeps,
  cluster: ValkeyCluster,
  names: readonly string[],
  context: ActContext,
) {
  const wanted = clusterBundles(cluster, deps.specs.of(cluster), tlsFor(deps, cluster)?.spec);
  for (const body of wanted.filter(({ metadata }) => names.includes(metadata.name))) {
    const live = deps.bundles.get(body.metadata);
    own(body, await deps.applier.apply(VALKEY_BUNDLES, body, { ...context, live }));
  }
}

/** What is somebody else's under a name of ours is told, not left for the next look to find again. */
function own({ kind, metadata }: DesiredObject, outcome: ApplyOutcome<unknown>): void {
  if (outcome.did !== "foreign") return;
  throw new Error(`${kind} ${metadata.name} is needed and cannot be made: ${outcome.why}; delete it or rename it`);
}

function chosen(
  deps: DeploymentDeps,
  cluster: ValkeyCluster,
  purpose: Purpose,
  names: readonly string[],
): readonly Target[] {
  const known = targetsFor(deps, cluster, purpose);
  return names.flatMap((name) => known.get(name) ?? []);
}

/** Only the marks: the content is as it should be. */
async function mendMarks(deps: DeploymentDeps, targets: readonly Target[], { guard, signal, owner }: ActContext) {
  await sideBySide(targets, async ({ ref, labels, annotations, owner: by, kind }) => {
    const body = {
      metadata: { labels: { ...labels, [CERTIFICATE_LABEL]: kind }, annotations, ownerReferences: [by] },
    };
    guard();
    const mended = await deps.client.patch(SECRETS, ref, { type: "merge", body }, { signal });
    deps.expectations.wrote(owner, SECRETS, mended);
  });
}

async function actOnLeaves(
  deps: DeploymentDeps,
  cluster: ValkeyCluster,
  { purpose, step }: DeploymentStep & { readonly do: "leaves" },
  context: ActContext,
): Promise<void> {
  const bundle = bundleFor(deps, cluster, purpose);
  const ca = bundle === undefined ? undefined : deps.roots.caOf(useOf(bundle));
  if (bundle === undefined || ca === undefined) return;
  const targets = chosen(deps, cluster, purpose, step.names);
  if (step.do === "verify-processes") return verify(deps, targets, step.roots, context);
  const nodes = new Map(targets.map(({ name, node }) => [name, node]));
  const job: LeafJob = {
    ca,
    targets,
    trust: step.roots,
    written: async ({ name }, data) => push(deps, nodes.get(name), data, context),
  };
  if (step.do === "change-trust") return changeTrust(deps, job, context);
  const intermediate = intermediateOf(deps.secrets, bundle);
  if (intermediate.found !== "certificate") return;
  await issueLeaves(deps, { ...job, bundle, intermediate: intermediate.thumbprint }, context);
}
