/** What keeps a pod from doing its work: where it should run, what it should run, and how it goes. */
import { pendingVolume } from "./claim.ts";
import { containerFindings } from "./container.ts";
import { describePod, type PodContext } from "./context.ts";
import { type Finding, inner, quoted } from "./finding.ts";

/** Kubernetes sets a deletionTimestamp to when the pod should be gone. */
const GOING_MS = 30_000;
const UNSCHEDULED_MS = 10_000;
const MACHINE_MS = 10_000;
const CREATING_MS = 60_000;

type Draft = Omit<Finding, "subject" | "node">;

/** One cause hides those that follow from it: who has no Node has no containers to complain of. */
export function podFindings(context: PodContext): Finding[] {
  const { pod, node } = context;
  const about = (draft: Draft): Finding => ({ ...draft, subject: pod.metadata.name, node: node.node });
  if (pod.metadata.deletionTimestamp !== undefined) return terminating(context).map(about);
  const first = machine(context) ?? ended(context);
  if (first !== undefined) return [about(first)];
  const place = unscheduled(context);
  if (place === "volume") return [pendingVolume(context)];
  if (place !== undefined) return [about(place)];
  const containers = containerFindings(context);
  if (containers.length > 0) return containers.map(about);
  return creating(context).map(about);
}

function terminating(context: PodContext): Draft[] {
  const { pod, patience, facts } = context;
  if (!patience.over(pod.metadata.deletionTimestamp, GOING_MS)) return [];
  const { nodeName = "" } = pod.spec;
  const machine = facts.machines?.get(nodeName);
  const dead = nodeName !== "" && facts.machines !== undefined && machine?.ready !== true;
  if (dead) {
    return [
      {
        reason: "NodeUnreachable",
        severity: "error",
        what: `Node ${nodeName} does not answer, so nobody knows whether the pods that should leave it still run`,
        fix: `Bring the Node back. ${sayItIsOff(nodeName)}`,
      },
    ];
  }
  const finalizers = pod.metadata.finalizers ?? [];
  if (finalizers.length > 0) {
    return [
      {
        reason: "StuckTerminating",
        severity: "warning",
        what: `a deleted pod is kept by the finalizers ${finalizers.join(", ")}`,
        fix: "Whoever put them there has to remove them; the operator puts none on pods.",
      },
    ];
  }
  return [
    {
      reason: "StuckTerminating",
      severity: "warning",
      what: "a deleted pod is still there after its time to end",
      fix: `${describePod(context)} shows what it waits for: usually its Node, a volume that cannot be unmounted, or a server that is still writing its data.`,
    },
  ];
}

/** Kubernetes then lets its pods go, and others take their place. */
function sayItIsOff(machine: string): string {
  return `If it is off for good, and only then, say so: kubectl taint node ${machine} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute.`;
}

function machine({ pod, facts, patience }: PodContext): Draft | undefined {
  const { nodeName } = pod.spec;
  if (nodeName === undefined || facts.machines === undefined) return undefined;
  const found = facts.machines.get(nodeName);
  if (found?.ready === true || !patience.over(found?.since, MACHINE_MS)) return undefined;
  const what = found === undefined ? `Node ${nodeName} is gone` : `Node ${nodeName} is not ready`;
  return {
    reason: found === undefined ? "NodeGone" : "NodeNotReady",
    severity: "error",
    what,
    fix:
      found === undefined
        ? "Kubernetes removes its pods after a while; they come back elsewhere if their volumes can."
        : `kubectl describe node ${nodeName} shows why; its pods come back with it. ${sayItIsOff(nodeName)}`,
  };
}

/** Evicted, refused by kubelet, or ended by a Node that shut down: its workload makes another. */
function ended({ pod }: PodContext): Draft | undefined {
  const { phase, reason = "", message = "" } = pod.status;
  if (phase !== "Failed") return undefined;
  return {
    reason: "PodFailed",
    severity: "warning",
    what: reason === "" ? "a pod has failed" : `a pod has failed: ${reason}`,
    detail: quoted(message),
    fix: "Another one takes its place. If this repeats, give the Nodes more room or the pods smaller limits.",
  };
}

function unscheduled({ pod, patience }: PodContext): Draft | "volume" | undefined {
  const scheduled = pod.status.conditions.find(({ type }) => type === "PodScheduled");
  if (scheduled === undefined || scheduled.status === "True") return undefined;
  if (!patience.over(scheduled.lastTransitionTime, UNSCHEDULED_MS)) return undefined;
  const said = schedulerWords(scheduled.message);
  if (/persistentvolumeclaim/iu.test(said)) return "volume";
  if (scheduled.reason === "SchedulingGated") return { ...gated, detail: said };
  return { ...noNodeFits, detail: said, fix: schedulingFix(said) };
}

const gated = {
  reason: "SchedulingGated",
  severity: "warning",
  what: "pods are held back by a scheduling gate that somebody has set",
  fix: "Whoever put the gate there has to remove it.",
} as const;

const noNodeFits = { reason: "NoNodeFits", severity: "error", what: "no Node can take these pods" } as const;

/** The scheduler adds what it thought of preemption and of devices; none of it helps a reader. */
function schedulerWords(message: string): string {
  return quoted(message.replace(/(?:\.? no new claims to deallocate)?[.,]? preemption:.*$/su, ""));
}

const SCHEDULING_FIXES: readonly (readonly [RegExp, string])[] = [
  [/insufficient (?:cpu|memory)/iu, "Add Nodes, or ask for less in spec.resources.requests."],
  [/insufficient/iu, "Add Nodes that have what the pods ask for in spec.resources."],
  [/affinity\/selector/iu, "No Node has what spec.nodeSelector, spec.nodeAffinity or spec.azDistribution asks for."],
  [
    /anti-affinity/iu,
    "spec.podAntiAffinity or spec.azDistribution keeps the pods apart: add Nodes or zones, or ask for less.",
  ],
  [/topology spread/iu, "spec.topologySpreadConstraints cannot be met: add Nodes, or use ScheduleAnyway."],
  [/untolerated taint/iu, "Tolerate the taint in spec.tolerations, or remove it from a Node."],
  [/volume node affinity/iu, "The volume is bound to a Node or zone where the pod may not run: make room there."],
  [/too many pods/iu, "The Nodes are full: add Nodes."],
];

function schedulingFix(said: string): string {
  const fixes = SCHEDULING_FIXES.filter(([pattern]) => pattern.test(said)).map(([, fix]) => fix);
  const all = fixes.filter((fix) => !(fix.includes("what the pods ask for") && fixes.length > 1));
  return all.length > 0 ? all.join(" ") : "Compare what the pods ask for with what kubectl describe nodes shows.";
}

/** Sandbox, network and volumes come before the first container; what is amiss with them stands only in events. */
function creating(context: PodContext): Draft[] {
  const { pod, patience } = context;
  const containers = [...pod.status.initContainerStatuses, ...pod.status.containerStatuses];
  const waiting = containers.find(({ state }) => state.waiting?.reason === "ContainerCreating");
  const begun = containers.some(({ state }) => state.running !== undefined || state.terminated !== undefined);
  const waits = pod.spec.nodeName !== undefined && (waiting !== undefined || containers.length === 0) && !begun;
  if (!waits || !patience.over(pod.status.startTime ?? pod.metadata.creationTimestamp, CREATING_MS)) return [];
  const { nodeName = "" } = pod.spec;
  return [
    {
      reason: "StuckCreating",
      severity: "warning",
      what: "pods wait on their Node for a network, a volume or kubelet",
      detail: `on ${inner(nodeName)}`,
      fix: `${describePod(context)} shows at its end what is missing.`,
    },
  ];
}
