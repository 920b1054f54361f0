/** Tells of every ValkeyClusterTls whether its certificates will do, for each cluster that uses it. */
import type { ValkeyCluster } from "../../api/cluster.ts";
import type { ValkeyClusterTls } from "../../api/cluster-tls.ts";
import type { Applier } from "../../kube/apply.ts";
import type { Cache } from "../../kube/cache.ts";
import type { ActContext, Controller, Step, Told } from "../../kube/controller.ts";
import { readyCondition } from "../../plan/certificates/condition.ts";
import { judgeServer, type ServerQuestion, type ServerVerdict } from "../../plan/certificates/server.ts";
import { VALKEY_TLS } from "../resources.ts";
import type { ServerCertificates } from "./server-certificates.ts";

export interface TlsDeps {
  readonly applier: Applier;
  readonly tls: Cache<ValkeyClusterTls>;
  readonly servers: ServerCertificates;
}

/** One cluster's look at its certificate. */
interface Use {
  readonly question: ServerQuestion;
  /** What handshakes with the servers of the cluster showed last. */
  readonly shown: string | undefined;
}

interface TlsView {
  readonly uses: readonly Use[];
}

/** The end of a certificate that somebody else renews is told by nobody. */
const LOOK_AGAIN_MS = 60_000;

export function tlsController(deps: TlsDeps): Controller<ValkeyClusterTls, TlsView, Step> {
  return {
    name: "tls",
    sources: [deps.servers.tlsSource],
    observe: (key) => {
      const tls = deps.tls.byKey(key);
      if (tls === undefined || tls.metadata.deletionTimestamp !== undefined) return undefined;
      const external = deps.servers.externalQuestion(tls);
      const used = deps.servers.usersOf(tls).map((cluster) => useOf(deps.servers, cluster, tls));
      const uses = used.length === 0 && external !== undefined ? [{ question: external, shown: undefined }] : used;
      return { wanted: tls, view: { uses } };
    },
    plan: ({ spec }) => ({
      steps: [],
      holds: [],
      ...(spec.externalCerts === undefined ? {} : { requeueAfterMs: LOOK_AGAIN_MS }),
    }),
    act: async () => undefined,
    report: (told, context) => report(deps, told, context),
  };
}

function useOf(servers: ServerCertificates, cluster: ValkeyCluster, tls: ValkeyClusterTls): Use {
  return { question: servers.question(cluster, tls), shown: cluster.status?.tls?.thumbprint };
}

const UNUSED: ServerVerdict = { usable: true, phase: "Pending", message: "no cluster uses it yet" };

/** The worst of all clusters is told: what is wrong for one is wrong. Of good certificates the first that ends is. */
function overall({ uses }: TlsView, now: Date): ServerVerdict {
  const verdicts = uses.map(({ question, shown }) => ({ ...judgeServer(question, now), thumbprint: shown }));
  const doubtful = verdicts.find(({ message }) => message.includes(", but "));
  const [first] = verdicts.toSorted((a, b) => endOf(a) - endOf(b));
  const told = verdicts.find(({ usable }) => !usable) ?? doubtful ?? verdicts[0] ?? UNUSED;
  return { ...told, notAfter: told.usable ? first?.notAfter : undefined, thumbprint: first?.thumbprint };
}

function endOf({ notAfter }: ServerVerdict): number {
  return notAfter?.getTime() ?? Number.POSITIVE_INFINITY;
}

async function report(
  deps: TlsDeps,
  { wanted: tls, view }: Told<ValkeyClusterTls, TlsView, Step>,
  context: ActContext,
) {
  const now = new Date();
  const { phase, message, notAfter, thumbprint } = overall(view, now);
  const { generation } = tls.metadata;
  const readiness = { ready: phase === "Ready", reason: phase, message, generation };
  const status = {
    phase,
    message,
    observedGeneration: generation,
    ...(notAfter === undefined ? {} : { notAfter: notAfter.toISOString() }),
    ...(thumbprint === undefined ? {} : { thumbprint }),
    conditions: [readyCondition(tls.status?.conditions, now, readiness)],
  };
  await deps.applier.applyStatus(VALKEY_TLS, tls, status, context);
}
