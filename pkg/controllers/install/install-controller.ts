/** Makes the first objects when they are missing; what the user makes of them afterwards is the user's. */
import type { ValkeyCA } from "../../api/ca.ts";
import { DEFAULTS_NAME, type ValkeyClusterDefaults } from "../../api/cluster-defaults.ts";
import type { Cache } from "../../kube/cache.ts";
import type { KubeClient, NewBody } from "../../kube/client.ts";
import { type ActContext, type Controller, watches } from "../../kube/controller.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { defineResource, type ResourceName } from "../../kube/resource.ts";
import { VALKEY_CAS, VALKEY_DEFAULTS } from "../resources.ts";
import { firstCA, firstDefaults, ROOT_CA_NAME } from "./first-objects.ts";

interface FirstStep {
  readonly do: "make-root-ca" | "make-defaults";
}

interface FirstView {
  readonly ca: boolean;
  readonly defaults: boolean;
}

export interface InstallDeps {
  readonly client: KubeClient;
  /** The operator's own. */
  readonly namespace: string;
  readonly cas: Cache<ValkeyCA>;
  readonly defaults: Cache<ValkeyClusterDefaults>;
}

const KEY = "first-objects";

export function installController(deps: InstallDeps): Controller<undefined, FirstView, FirstStep> {
  const { namespace, cas, defaults } = deps;
  const ours = ({ metadata }: { metadata: { namespace?: string | undefined } }) =>
    metadata.namespace === namespace ? [KEY] : [];
  return {
    name: "install",
    sources: [{ subscribe: beginAtOnce }, watches(cas, ours), watches(defaults, ours)],
    observe: () => ({
      wanted: undefined,
      view: {
        ca: cas.get({ namespace, name: ROOT_CA_NAME }) !== undefined,
        defaults: defaults.get({ namespace, name: DEFAULTS_NAME }) !== undefined,
      },
    }),
    plan: (_wanted, view) => ({
      steps: [
        ...(view.ca ? [] : [{ do: "make-root-ca", lane: "ca" } as const]),
        ...(view.defaults ? [] : [{ do: "make-defaults", lane: "defaults" } as const]),
      ],
      holds: [],
    }),
    act: async (step, context) => {
      if (step.do === "make-root-ca") await make(deps, VALKEY_CAS, firstCA(namespace), context);
      else await make(deps, VALKEY_DEFAULTS, firstDefaults(namespace), context);
    },
  };
}

/** With nothing in any cache there would be no change to wake it. */
function beginAtOnce(wake: (key: string, priority: "low") => void): () => void {
  wake(KEY, "low");
  return () => undefined;
}

async function make(deps: InstallDeps, resource: ResourceName, body: NewBody, context: ActContext): Promise<void> {
  const { signal, guard, log } = context;
  guard();
  try {
    await deps.client.create(defineResource(resource), body, { signal });
    log.info({ kind: resource.kind, name: body.metadata.name }, "made a first object");
  } catch (error) {
    if (!isKubeError(error, "already-exists")) throw error;
  }
}
