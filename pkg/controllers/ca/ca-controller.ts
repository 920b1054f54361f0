/** Keeps every ValkeyCA's root: makes it when it is missing, takes the one that is there, replaces it, tells its state. */
import type { ValkeyCA } from "../../api/ca.ts";
import type { Applier } from "../../kube/apply.ts";
import type { Cache } from "../../kube/cache.ts";
import type { KubeClient, NewBody } from "../../kube/client.ts";
import { type ActContext, type Controller, type Source, type Told, watches } from "../../kube/controller.ts";
import type { EventRecorder, NewEvent } from "../../kube/events.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { keyOf, SECRETS } from "../../kube/resource.ts";
import { type CAInput, type CAStep, planCA, type RootUsers, type RootView } from "../../plan/ca.ts";
import { VALKEY_CAS } from "../resources.ts";
import { ROTATE } from "./root-part.ts";
import { addNext, changeToNext, dropOld, encoded, newRoot, newRootSecrets, type RootChange } from "./root-secret.ts";
import { namesOf, type Roots } from "./roots.ts";

export interface CADeps {
  readonly client: KubeClient;
  readonly applier: Applier;
  readonly recorder: Pick<EventRecorder, "record">;
  readonly cas: Cache<ValkeyCA>;
  readonly roots: Roots;
  /** How far those who use the root are. */
  readonly users: (ca: ValkeyCA, root: RootView) => RootUsers;
  /** Wakes with the keys of ValkeyCAs whose users have moved on. */
  readonly usersChanged: Source;
}

interface CAView {
  readonly root: RootView;
  readonly users: RootUsers;
}

export function caController(deps: CADeps): Controller<ValkeyCA, CAView, CAStep> {
  return {
    name: "ca",
    sources: [watches(deps.cas, (ca) => [keyOf(ca)]), deps.roots.source, deps.usersChanged],
    observe: (key) => {
      const ca = deps.cas.byKey(key);
      if (ca === undefined || ca.metadata.deletionTimestamp !== undefined) return undefined;
      const root = deps.roots.view(ca);
      return { wanted: ca, view: { root, users: deps.users(ca, root) } };
    },
    plan: (ca, view, now) => planCA(inputOf(ca, view), now),
    act: async (step, context) => {
      const ca = deps.cas.byKey(context.key);
      if (ca === undefined) return;
      if (step.do === "make-root") await makeRoot(deps, ca, context);
      else await changeRoot(deps, ca, step, context);
    },
    report: (told, context) => report(deps, told, context),
  };
}

function inputOf({ spec, metadata }: ValkeyCA, { root, users }: CAView): CAInput {
  return { spec, root, users, rotation: metadata.annotations?.[ROTATE] };
}

/** What is there by now is used as it is; of two replicas that try, the API server lets one win. */
async function makeRoot(deps: CADeps, ca: ValkeyCA, { guard, signal }: ActContext): Promise<void> {
  const { namespace } = ca.metadata;
  const there = await Promise.all(
    namesOf(ca).map(async (name) => deps.client.find(SECRETS, { namespace, name }, { signal })),
  );
  if (there.some((secret) => secret !== undefined)) return;
  const root = await newRoot(ca, new Date());
  for (const body of newRootSecrets(ca, root)) {
    guard();
    if (!(await created(deps, body, signal))) return;
  }
  deps.recorder.record({ regarding: subjectOf(ca), action: "MakeRoot", ...newsOfRoot(ca) });
}

async function created(deps: CADeps, body: NewBody, signal: AbortSignal): Promise<boolean> {
  try {
    await deps.client.create(SECRETS, body, { signal });
    return true;
  } catch (error) {
    if (isKubeError(error, "already-exists")) return false;
    throw error;
  }
}

/** A root that takes the place of another one is bad news for everything that the other one has signed. */
function newsOfRoot({ spec, status }: ValkeyCA): Pick<NewEvent, "type" | "reason" | "note"> {
  const made = `made a root certificate in Secret ${spec.caCertSecretRef}, valid for ${spec.validForDays} days`;
  if (status?.thumbprint === undefined) return { type: "Normal", reason: "RootMade", note: made };
  const lost = `the Secret with root ${status.thumbprint} was gone: what that root signed is replaced step by step`;
  const back = "to have the old one back, restore its Secret from a backup in place of the new one";
  return { type: "Warning", reason: "RootReplaced", note: `${made}; ${lost}; ${back}` };
}

/**
 * Decided from what is read now and written only if nobody wrote since. The key goes first: cut off in between, the
 * next look finds the next root's key with the old certificate, and goes on.
 */
async function changeRoot(deps: CADeps, ca: ValkeyCA, step: CAStep, context: ActContext): Promise<void> {
  const { signal, log } = context;
  const { namespace } = ca.metadata;
  const [certificateName, keyName] = namesOf(ca);
  const versions = await Promise.all(
    [certificateName, keyName].map(
      async (name) => (await deps.client.get(SECRETS, { namespace, name }, { signal })).metadata.resourceVersion,
    ),
  );
  const change = await changeOf(deps, ca, step, signal);
  const { files, notes } = change.certificate;
  if (certificateName === keyName) {
    const data = { ...files, ...change.key.files };
    await write(deps, { namespace, name: keyName, version: versions[0], data, notes }, context);
  } else {
    await write(deps, { namespace, name: keyName, version: versions[1], data: change.key.files, notes: {} }, context);
    await write(deps, { namespace, name: certificateName, version: versions[0], data: files, notes }, context);
  }
  log.info({ step: step.do }, "changed a root");
  deps.recorder.record({ regarding: subjectOf(ca), type: "Normal", action: "RotateRoot", ...NEWS[step.do] });
}

const NEWS: Readonly<Record<CAStep["do"], Pick<NewEvent, "reason" | "note">>> = {
  "make-root": { reason: "RootMade", note: "made a root certificate" },
  "make-next-root": {
    reason: "NextRootMade",
    note: "made the next root certificate; it is trusted beside the old one and signs nothing yet",
  },
  "sign-with-next-root": {
    reason: "RootChanged",
    note: "the next root certificate signs from now on; the old one stays trusted",
  },
  "drop-old-roots": {
    reason: "OldRootDropped",
    note: "nothing that the old root signed is in use any more: it is not trusted any more",
  },
};

async function changeOf(deps: CADeps, ca: ValkeyCA, step: CAStep, signal: AbortSignal): Promise<RootChange> {
  const { certificate, key } = await deps.roots.files(ca, signal);
  const now = new Date();
  switch (step.do) {
    case "make-root":
    case "make-next-root":
      return addNext(certificate, await newRoot(ca, now), ca.metadata.annotations?.[ROTATE], now);
    case "sign-with-next-root":
      return changeToNext(certificate, key, now);
    case "drop-old-roots":
      return dropOld(certificate);
  }
}

interface RootWrite {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly version: string | undefined;
  readonly data: Readonly<Record<string, string | null>>;
  readonly notes: Readonly<Record<string, string | null>>;
}

async function write(deps: CADeps, { namespace, name, version, data, notes }: RootWrite, context: ActContext) {
  if (Object.keys(data).length === 0) return;
  const body = { metadata: { resourceVersion: version, annotations: notes }, data: encoded(data) };
  context.guard();
  await deps.client.patch(SECRETS, { namespace, name }, { type: "merge", body }, { signal: context.signal });
}

async function report(deps: CADeps, told: Told<ValkeyCA, CAView, CAStep>, context: ActContext): Promise<void> {
  const { wanted: ca, view, failures } = told;
  const { status } = planCA(inputOf(ca, view), new Date());
  const failure = failures[0]?.error;
  const message = failure instanceof Error ? failure.message : status.message;
  const body = { ...status, ...(message === undefined ? {} : { message }), observedGeneration: ca.metadata.generation };
  await deps.applier.applyStatus(VALKEY_CAS, ca, body, context);
}

function subjectOf(ca: ValkeyCA) {
  const { name, namespace, uid } = ca.metadata;
  return { apiVersion: ca.apiVersion, kind: ca.kind, name, namespace, uid };
}
