/**
 * The CRDs of our kinds. The operator makes and updates its own, so that one `kubectl apply` (or Helm, or a GitOps tool)
 * of a file without CRDs installs everything, an upgrade of the operator brings its API along, and nothing that has our
 * names but not our label is ever touched: another operator uses the same names.
 */
import { KINDS } from "../../api/api.ts";
import { crdName, RELEASE_ANNOTATION, toCrd } from "../../api/crd.ts";
import { type Kind, OWNED_BY, OWNED_LABEL } from "../../api/kind.ts";
import { type Clock, sleep, systemClock } from "../../clock/clock.ts";
import { FIELD_MANAGER } from "../../kube/apply.ts";
import { contentHash, toJson } from "../../kube/apply-compare.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { CRDS, type LooseObject } from "../../kube/resource.ts";
import type { Logger } from "../../log/log.ts";
import { hasEstablished } from "./crd-condition.ts";

export class CrdsUnusable extends Error {
  override readonly name = "CrdsUnusable";
}

export interface CrdDeps {
  readonly client: Pick<KubeClient, "find" | "create" | "apply">;
  /** The release of this operator: a CRD of a newer one is left as it is. */
  readonly release: string;
  readonly log: Logger;
  readonly clock?: Clock;
}

const CONTENT_ANNOTATION = "valkey.io/crd-hash";
const ESTABLISHED_MS = 30_000;

/** Resolves when every CRD is there, ours and served; rejects with what is wrong and what to do. */
export async function ensureCrds(deps: CrdDeps, signal: AbortSignal): Promise<void> {
  const found = await Promise.all(
    KINDS.map(async (kind) => deps.client.find(CRDS, { name: crdName(kind) }, { signal })),
  );
  const foreign = found.flatMap((crd) => (crd !== undefined && !isOurs(crd) ? [crd.metadata.name] : []));
  // Nothing is written before all are known to be free or ours.
  if (foreign.length > 0) throw new CrdsUnusable(foreignText(foreign));
  for (const [index, kind] of KINDS.entries()) await ensureCrd(deps, kind, found[index], signal);
  for (const kind of KINDS) await established(deps, kind, signal);
}

function isOurs(crd: LooseObject): boolean {
  return crd.metadata.labels?.[OWNED_LABEL] === OWNED_BY;
}

function foreignText(names: readonly string[]): string {
  return (
    `these CRDs belong to another operator and were left as they are: ${names.join(", ")}. To migrate, back up their ` +
    `objects (kubectl get KIND -A -o yaml), remove the other operator and its CRDs, and restart this one. If a CRD is ` +
    `ours, label it ${OWNED_LABEL}=${OWNED_BY}`
  );
}

async function ensureCrd(
  deps: CrdDeps,
  kind: Kind,
  there: LooseObject | undefined,
  signal: AbortSignal,
): Promise<void> {
  const wanted = wantedCrd(kind, deps.release);
  try {
    if (there === undefined) {
      await deps.client.create(CRDS, wanted, { signal, fieldManager: FIELD_MANAGER });
      deps.log.info({ crd: crdName(kind) }, "made a CRD");
    } else if (mustUpdate(there, wanted, deps.release)) {
      // The uid keeps it from running over a foreign one that took the place of the one that was looked at.
      const body = { ...wanted, metadata: { ...wanted.metadata, uid: there.metadata.uid } };
      await deps.client.apply(CRDS, body, { fieldManager: FIELD_MANAGER, force: true, signal });
      deps.log.info({ crd: crdName(kind), before: releaseOf(there), after: deps.release }, "updated a CRD");
    }
  } catch (error) {
    if (isKubeError(error, "already-exists", "conflict")) return;
    if (!isKubeError(error, "forbidden")) throw error;
    if (there === undefined)
      throw new CrdsUnusable(`the CRD ${crdName(kind)} is missing and this operator may not make it: ${ADMIN}`);
    deps.log.warn(
      { crd: crdName(kind), release: releaseOf(there) },
      "the CRD is of another release and may not be updated",
    );
  }
}

const ADMIN = "let an administrator run kubectl apply --server-side -f manifests/crds";

function wantedCrd(kind: Kind, release: string) {
  const crd = toCrd(kind, release);
  const hash = contentHash(toJson(crd));
  return {
    ...crd,
    metadata: { ...crd.metadata, annotations: { ...crd.metadata.annotations, [CONTENT_ANNOTATION]: hash } },
  };
}

/** During an upgrade replicas of two releases run: the older one must not take the newer one's fields away. */
function mustUpdate(there: LooseObject, wanted: ReturnType<typeof wantedCrd>, release: string): boolean {
  const order = Bun.semver.order(releaseOf(there), release);
  if (order > 0) return false;
  return (
    order < 0 || there.metadata.annotations?.[CONTENT_ANNOTATION] !== wanted.metadata.annotations[CONTENT_ANNOTATION]
  );
}

function releaseOf(crd: LooseObject): string {
  return crd.metadata.annotations?.[RELEASE_ANNOTATION] ?? "0.0.0";
}

/** The API server serves a kind a moment after its CRD is stored. */
async function established(deps: CrdDeps, kind: Kind, signal: AbortSignal): Promise<void> {
  const clock = deps.clock ?? systemClock;
  const end = clock.monotonic() + ESTABLISHED_MS;
  for (;;) {
    const crd = await deps.client.find(CRDS, { name: crdName(kind) }, { signal });
    if (crd !== undefined && hasEstablished(crd)) return;
    if (clock.monotonic() > end)
      throw new CrdsUnusable(`the API server does not serve ${crdName(kind)}: see its conditions`);
    await sleep(clock, 100, signal);
  }
}
