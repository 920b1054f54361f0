/** The running operator as tests look at it: its pods, who leads, what it measures, and objects for it to work on. */
import * as v from "valibot";
import { VALKEY_CAS } from "../../pkg/controllers/resources.ts";
import { KubeClient } from "../../pkg/kube/client.ts";
import { loadConnection } from "../../pkg/kube/kube-config.ts";
import { LEASE, recordOf } from "../../pkg/kube/lease-record.ts";
import { EVENTS, ObjectMetaSchema, PODS, SECRETS, typed } from "../../pkg/kube/resource.ts";
import { KubeTransport } from "../../pkg/kube/transport.ts";
import { type UntilOptions, until } from "../lib/until.ts";
import { kubectl } from "./cluster.ts";
import { OPERATOR_NAMESPACE } from "./install.ts";

const context = process.env["KUBE_CONTEXT"];
export const client = new KubeClient(new KubeTransport(loadConnection(context === undefined ? {} : { context })));

const PodSchema = v.object({
  metadata: ObjectMetaSchema,
  status: v.object({
    podIP: v.optional(v.string(), ""),
    conditions: v.optional(v.array(v.object({ type: v.string(), status: v.string() })), []),
    containerStatuses: v.optional(v.array(v.object({ restartCount: v.number() })), []),
  }),
});
const OPERATOR_PODS = typed(PODS, (value) => v.parse(PodSchema, value));

export interface OperatorPod {
  readonly name: string;
  readonly ip: string;
  readonly restarts: number;
  readonly ready: boolean;
}

/** Those that are not on their way out. */
export async function operatorPods(): Promise<OperatorPod[]> {
  const selection = { namespace: OPERATOR_NAMESPACE, labelSelector: "app.kubernetes.io/name=valkey-operator" };
  const { items } = await client.list(OPERATOR_PODS, selection);
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata, status }) => ({
      name: metadata.name,
      ip: status.podIP,
      restarts: status.containerStatuses[0]?.restartCount ?? 0,
      ready: status.conditions.some(({ type, status: state }) => type === "Ready" && state === "True"),
    }));
}

export interface Holder {
  /** Of the process, another one after every restart. */
  readonly identity: string;
  readonly pod: string;
  readonly token: number;
}

/** Who holds the Lease at this moment; undefined when it was released. */
export async function holder(): Promise<Holder | undefined> {
  const { holder: identity, transitions } = recordOf(
    await client.get(LEASE, { namespace: OPERATOR_NAMESPACE, name: "valkey-operator" }),
  );
  return identity === "" ? undefined : { identity, pod: identity.split("_")[0] ?? "", token: transitions };
}

export interface Pair {
  readonly leader: OperatorPod;
  readonly standby: OperatorPod;
  readonly term: Holder;
}

/** The two replicas when both serve and one of them leads, whatever happened before. */
export async function settledPair(): Promise<Pair> {
  return until(
    "two ready replicas, one of which leads",
    async () => {
      const [pods, term] = [await operatorPods(), await holder()];
      const leader = pods.find(({ name }) => name === term?.pod);
      const standby = pods.find(({ name }) => name !== term?.pod);
      if (term === undefined || leader === undefined || standby === undefined || pods.length !== 2) return undefined;
      return leader.ready && standby.ready ? { leader, standby, term } : undefined;
    },
    { timeoutMs: 150_000 },
  );
}

/** The sum of all samples of a family, of those only that carry the given label. */
export async function metric({ ip }: Pick<OperatorPod, "ip">, family: string, label = ""): Promise<number> {
  const text = await healthPage({ ip }, "/metrics");
  const samples = text.split("\n").filter((line) => line.startsWith(`${family}{`) || line.startsWith(`${family} `));
  const chosen = samples.filter((line) => line.includes(label));
  return chosen.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

/** Straight from the pod, so that it also answers while the API server does not. Inside the lab only. */
export async function healthPage({ ip }: Pick<OperatorPod, "ip">, path: string): Promise<string> {
  const answer = await fetch(`http://${ip}:8081${path}`, { signal: AbortSignal.timeout(5000) });
  return answer.text();
}

export async function logLines(pod: string): Promise<readonly Record<string, unknown>[]> {
  const text = await kubectl(["logs", "-n", OPERATOR_NAMESPACE, pod]);
  return text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => v.parse(v.record(v.string(), v.unknown()), JSON.parse(line)));
}

/** A ValkeyCA: the smallest thing that asks the operator for work. Its root goes to the Secret of the same name. */
export async function makeCA(namespace: string, name: string): Promise<void> {
  await client.create(VALKEY_CAS, { metadata: { namespace, name }, spec: { caCertSecretRef: name } });
}

export async function caStatus(namespace: string, name: string) {
  return (await client.get(VALKEY_CAS, { namespace, name })).status ?? {};
}

/** Until the operator has its root and says so; gives the thumbprint. The Secret is named as the CA if not told. */
export async function caReady(
  namespace: string,
  name: string,
  { secret = name, ...patience }: UntilOptions & { readonly secret?: string } = {},
): Promise<string> {
  return until(
    `${name} is Ready and has its Secret`,
    async () => {
      const status = await caStatus(namespace, name);
      return status.phase === "Ready" && (await secretThere(namespace, secret)) && status.thumbprint;
    },
    { everyMs: 50, ...patience },
  );
}

export async function secretThere(namespace: string, name: string): Promise<boolean> {
  return (await client.find(SECRETS, { namespace, name })) !== undefined;
}

const EventSchema = v.object({
  metadata: ObjectMetaSchema,
  type: v.string(),
  reason: v.string(),
  note: v.string(),
  reportingInstance: v.string(),
  regarding: v.object({ name: v.string() }),
});
export type SeenEvent = v.InferOutput<typeof EventSchema>;
const SEEN_EVENTS = typed(EVENTS, (value) => v.parse(EventSchema, value));

/** What the operator has told about an object, the reason and the replica included. Events come a little later. */
export async function eventOf(namespace: string, name: string, reason: string): Promise<SeenEvent> {
  return until(`an event ${reason} of ${name}`, async () => {
    const { items } = await client.list(SEEN_EVENTS, { namespace, fieldSelector: `reason=${reason}` });
    return items.find(({ regarding }) => regarding.name === name);
  });
}
