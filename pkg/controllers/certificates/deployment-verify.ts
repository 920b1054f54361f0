/** Identities on their way to running agents: pushed, and believed to be there only after a handshake. */
import type { ValkeyNode } from "../../api/node.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { ActContext } from "../../kube/controller.ts";
import { type ProbeCredential, probeAgent } from "./agent-probe.ts";
import {
  CERTIFICATE_FILE,
  KEY_FILE,
  ROOTS_FILE,
  type SecretData,
  sequenceOf,
  textOf,
  viewOf,
  WHOLE_SECRETS,
} from "./certificate-secret.ts";
import type { DeploymentCaches, Target } from "./deployment-view.ts";
import type { IdentityPusher } from "./identity-pusher.ts";
import { sideBySide } from "./side-by-side.ts";

export interface VerifyDeps extends DeploymentCaches {
  readonly client: Pick<KubeClient, "find">;
  readonly pusher: IdentityPusher;
  /** Who the operator is, by the roots that it can come under. */
  readonly credentials: (
    roots: readonly string[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, ProbeCredential>>;
}

const PUSH_MS = 3000;

/** Whether it arrived is asked by a handshake afterwards, so a push that fails is none of ours. */
export async function push(
  deps: VerifyDeps,
  node: ValkeyNode | undefined,
  data: SecretData,
  { guard, signal }: ActContext,
): Promise<void> {
  const pod = node?.status?.pod;
  if (node === undefined || pod?.ip === undefined || pod.ip === "") return;
  const { name, namespace = "" } = node.metadata;
  const target = { namespace, cluster: node.spec.parent.name, node: name, ip: pod.ip, podUid: pod.uid };
  const identity = {
    sequence: sequenceOf(data),
    certificate: textOf(data[CERTIFICATE_FILE]),
    key: textOf(data[KEY_FILE]),
    authorities: textOf(data[ROOTS_FILE]),
  };
  guard();
  await deps.pusher.push(target, identity, AbortSignal.any([signal, AbortSignal.timeout(PUSH_MS)]));
  deps.sights.expectChange(node);
}

/** Asks first: most show already what they should. Who does not is pushed to and asked again. */
export async function verify(
  deps: VerifyDeps,
  targets: readonly Target[],
  roots: readonly string[],
  context: ActContext,
): Promise<void> {
  const credentials = await deps.credentials(roots, context.signal);
  if (credentials.size === 0) return;
  await sideBySide(targets, async (target) => {
    const { node } = target;
    const secret = await deps.client.find(WHOLE_SECRETS, target.ref, { signal: context.signal });
    const cached = deps.secrets.get(target.ref);
    const held = viewOf(cached, cached);
    if (node === undefined || secret === undefined || held.found !== "certificate") return;
    const request = { node, authorities: textOf(secret.data[ROOTS_FILE]), credentials };
    const accepts = [...credentials.keys()].filter((root) => held.trusts.includes(root));
    const wanted = { shows: held.thumbprint, accepts };
    const first = await probeAgent(request, context.signal);
    const proven = first.shows === wanted.shows && accepts.every((root) => first.accepts.includes(root));
    if (proven || first.shows === undefined) return deps.sights.note(node, first, wanted);
    await push(deps, node, secret.data, context);
    deps.sights.note(node, await probeAgent(request, context.signal), wanted);
  });
}
