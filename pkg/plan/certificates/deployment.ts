/** What to do about the certificates of one deployment: its bundles, its identities, its servers, its binding. */
import type { ValkeyCertificateBindingSpec } from "../../api/certificate-binding.ts";
import { bindingSpec, type InUse, inUseBefore, type Life } from "./binding.ts";
import {
  type LeafHold,
  type LeafInput,
  type LeafMember,
  type LeafPlan,
  type LeafStep,
  type ProcessSight,
  planLeaves,
} from "./leaves.ts";
import type { CertificateView, Held } from "./view.ts";

export interface GroupMember extends LeafMember {
  /** Somebody changed labels, notes or owner of its Secret. */
  readonly marksDiffer: boolean;
  /** Name of its Secret. */
  readonly secret: string;
}

/** All certificates of one purpose. */
export interface LeafGroup extends LeafInput {
  readonly bundle: string;
  readonly intermediateSecret: string;
  readonly members: readonly GroupMember[];
}

/** Servers with a certificate of somebody else. */
export interface ExternalServers {
  readonly secret: string;
  /** Undefined while it cannot be read: servers go on with the last one. */
  readonly certificate: Life | undefined;
  /** Thumbprint of what handshakes with all servers showed last. */
  readonly shown: string | undefined;
}

export interface DeploymentView {
  /** For texts. */
  readonly name: string;
  /** Name of the deployment itself. */
  readonly cluster: string;
  /** Bundles that are not there or not as they should be. */
  readonly staleBundles: readonly string[];
  /** Undefined until its bundle is there. */
  readonly identities: LeafGroup | undefined;
  /** Undefined without certificates of our own towards clients. */
  readonly servers: LeafGroup | undefined;
  /** Undefined unless somebody else makes the certificates towards clients. */
  readonly external: ExternalServers | undefined;
  /** As it is. */
  readonly binding: ValkeyCertificateBindingSpec | undefined;
}

export type DeploymentStep =
  | { readonly do: "apply-bundles"; readonly lane: "bundles"; readonly names: readonly string[] }
  | { readonly do: "apply-binding"; readonly lane: "binding"; readonly spec: ValkeyCertificateBindingSpec }
  | {
      readonly do: "mend-marks";
      readonly lane: string;
      readonly purpose: "mtls" | "tls";
      readonly names: readonly string[];
    }
  | { readonly do: "leaves"; readonly lane: string; readonly purpose: "mtls" | "tls"; readonly step: LeafStep };

export interface DeploymentPlan {
  readonly steps: readonly DeploymentStep[];
  readonly holds: readonly LeafHold[];
  readonly requeueAfterMs: number | undefined;
  readonly settled: boolean;
}

export function planDeployment(view: DeploymentView, now: Date): DeploymentPlan {
  const identities = view.identities === undefined ? undefined : planLeaves(view.identities, now);
  const servers = view.servers === undefined ? undefined : planLeaves(view.servers, now);
  const plans = [identities, servers].filter((plan) => plan !== undefined);
  const binding = bindingSpec(view.cluster, view.binding, inUse(view, identities, servers, now), now);
  return {
    steps: [
      ...(view.staleBundles.length === 0
        ? []
        : [{ do: "apply-bundles", lane: "bundles", names: view.staleBundles } as const]),
      ...groupSteps("mtls", view.identities, identities),
      ...groupSteps("tls", view.servers, servers),
      ...(sameBinding(binding, view.binding) ? [] : [{ do: "apply-binding", lane: "binding", spec: binding } as const]),
    ],
    holds: plans.flatMap(({ holds }) => holds),
    requeueAfterMs: soonest([...plans.map(({ requeueAfterMs }) => requeueAfterMs), untilTaken(view.servers, now)]),
    settled: identities?.settled === true && servers?.settled !== false && externalSettled(view),
  };
}

function externalSettled({ external }: DeploymentView): boolean {
  return external?.certificate === undefined || external.certificate.thumbprint === external.shown;
}

function groupSteps(
  purpose: "mtls" | "tls",
  group: LeafGroup | undefined,
  plan: LeafPlan | undefined,
): readonly DeploymentStep[] {
  if (group === undefined || plan === undefined) return [];
  const written = new Set(plan.steps.flatMap(({ lane, names }) => (lane === "write" ? names : [])));
  const marked = group.members.filter(({ name, marksDiffer }) => marksDiffer && !written.has(name));
  const names = marked.map(({ name }) => name);
  const leaves = plan.steps.map((step) => ({ do: "leaves", lane: `${purpose} ${step.lane}`, purpose, step }) as const);
  return names.length === 0 ? leaves : [...leaves, { do: "mend-marks", lane: `${purpose} marks`, purpose, names }];
}

/** Of the identities the intermediate is told, since there may be a thousand; of the servers their one certificate. */
function inUse(view: DeploymentView, identities: LeafPlan | undefined, servers: LeafPlan | undefined, now: Date) {
  return [
    ...identitiesInUse(view.identities, identities),
    ...serversInUse(view.servers, servers, now),
    ...externalInUse(view),
  ];
}

function externalInUse({ external, binding }: DeploymentView): InUse[] {
  if (external === undefined) return [];
  const { certificate: held, secret, shown } = external;
  if (held !== undefined) {
    return [{ purpose: "tls", held, bundle: undefined, secret, settled: shown === held.thumbprint }];
  }
  return (binding?.active ?? []).filter(({ purpose }) => purpose === "tls").map(inUseBefore);
}

function identitiesInUse(group: LeafGroup | undefined, plan: LeafPlan | undefined): InUse[] {
  if (group?.intermediate.found !== "certificate") return [];
  const { intermediate: held, bundle, intermediateSecret: secret } = group;
  return [{ purpose: "mtls", held, bundle, secret, settled: plan?.settled === true }];
}

function serversInUse(group: LeafGroup | undefined, plan: LeafPlan | undefined, now: Date): InUse[] {
  const server = group?.members[0];
  if (group === undefined || server?.held.found !== "certificate") return [];
  const settled = plan?.settled === true && takenAt(server.held) <= now;
  return [{ purpose: "tls", held: server.held, bundle: group.bundle, secret: server.secret, settled }];
}

/** Servers are not asked by the operator: what their agents were given they have taken over after this long. */
const SERVERS_TAKE_MS = 30_000;

/** Sequences are made of the time of the writing. */
export function takenAt({ sequence }: Held): Date {
  return new Date(sequence + SERVERS_TAKE_MS);
}

function untilTaken(group: LeafGroup | undefined, now: Date): number | undefined {
  const held = group?.members[0]?.held;
  if (held?.found !== "certificate" || takenAt(held) <= now) return undefined;
  return takenAt(held).getTime() - now.getTime();
}

/** As if a handshake had told it. */
export function trustByTime(held: CertificateView, now: Date): ProcessSight | undefined {
  if (held.found !== "certificate") return undefined;
  const lookAt = new Date(held.trustSince.getTime() + SERVERS_TAKE_MS);
  return { shows: held.thumbprint, accepts: lookAt <= now ? held.trusts : [], lookAt };
}

function sameBinding(a: ValkeyCertificateBindingSpec, b: ValkeyCertificateBindingSpec | undefined): boolean {
  if (b === undefined) return (a.active ?? []).length === 0;
  const text = ({ clusterRef, active, deprecated }: ValkeyCertificateBindingSpec) =>
    JSON.stringify([clusterRef, (active ?? []).map(sortedEntries), (deprecated ?? []).map(sortedEntries)]);
  return text(a) === text(b);
}

/** Times are compared as times: the API server may write them down otherwise than we do. */
function sortedEntries(entry: object): readonly (readonly [string, unknown])[] {
  return Object.entries(entry)
    .map(([name, value]) => [name, name.endsWith("At") ? new Date(String(value)).getTime() : value] as const)
    .toSorted(([a], [b]) => a.localeCompare(b));
}

function soonest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
