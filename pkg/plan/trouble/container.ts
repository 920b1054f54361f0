/** What is wrong with the containers of a pod: cannot be pulled, cannot start, ends again and again. */
import type { PodContext } from "./context.ts";
import type { ContainerFacts } from "./facts.ts";
import { type Finding, quoted } from "./finding.ts";

type Draft = Omit<Finding, "subject" | "node">;

/** kubelet waits at most five minutes between two starts. */
const LATELY_MS = 600_000;
const STARTING_MS = 60_000;
/** One restart may be chance, two within ten minutes are not. */
const REPEATED = 2;
/** One that has run for so long has got over it. */
const STEADY_MS = 60_000;

export function containerFindings(context: PodContext): Draft[] {
  const { initContainerStatuses, containerStatuses } = context.pod.status;
  return [
    ...initContainerStatuses.map((status) => findingOf(context, status) ?? notStarting(context, status)),
    ...containerStatuses.map((status) => findingOf(context, status)),
  ].filter((finding) => finding !== undefined);
}

function findingOf(context: PodContext, status: ContainerFacts): Draft | undefined {
  return imageFinding(status) ?? startFinding(status) ?? endFinding(context, status);
}

const PULL_REASONS: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "ImageInspectError",
  "RegistryUnavailable",
  "SignatureValidationFailed",
]);

const IMAGE_FIELDS: Readonly<Record<string, string>> = {
  valkey: "spec.valkeyImage",
  agent: "spec.sidecarImage",
  exporter: "spec.exporter.image",
};

function imageFinding({ name, image, state }: ContainerFacts): Draft | undefined {
  const { reason = "", message = "" } = state.waiting ?? {};
  if (!PULL_REASONS.has(reason)) return undefined;
  const field = IMAGE_FIELDS[name] ?? "its image";
  return {
    reason: "ImageCannotBePulled",
    severity: "error",
    what: `image ${image} of container ${name} cannot be pulled`,
    detail: pullWords(message),
    fix: `Correct ${field}, or put the image where the Nodes can reach it; a private registry needs ${field}.imagePullSecrets.`,
  };
}

/** The cause alone, without the layers that pass it on, and without the ports that differ from try to try. */
function pullWords(message: string): string {
  const cause = message
    .replace(/^Back-off pulling image "[^"]*"(?:: )?/u, "")
    .replace(/^ErrImagePull: /u, "")
    .replace(/^rpc error: code = \w+ desc = /u, "")
    .replace(/^failed to pull and unpack image "[^"]*": /u, "")
    .replaceAll(/read (?:udp|tcp) \S+->\S+: /gu, "");
  return quoted(cause);
}

const START_REASONS: ReadonlySet<string> = new Set([
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "PreStartHookError",
  "PostStartHookError",
]);

function startFinding({ name, state, lastState }: ContainerFacts): Draft | undefined {
  const { reason = "", message = "" } = state.waiting ?? {};
  const failed = [state.terminated, lastState.terminated].find((end) => end?.reason === "StartError");
  const starts = state.running !== undefined;
  if (!START_REASONS.has(reason) && (failed === undefined || starts)) return undefined;
  return {
    reason: "ContainerCannotStart",
    severity: "error",
    what: `container ${name} cannot be started`,
    detail: quoted(message || failed?.message || reason),
    fix: startFix(reason, name),
  };
}

function startFix(reason: string, name: string): string {
  if (reason === "CreateContainerConfigError") {
    return "Make what is missing; what belongs to the operator comes back by itself.";
  }
  return `Usually the image is not the right one for its place: compare ${IMAGE_FIELDS[name] ?? "the image"} with what the release asks for.`;
}

function endFinding(context: PodContext, status: ContainerFacts): Draft | undefined {
  const { name, state, lastState, restartCount } = status;
  const end = state.terminated ?? lastState.terminated;
  const waits = state.waiting?.reason === "CrashLoopBackOff";
  if (end === undefined || !(waits || context.patience.recent(end.finishedAt, LATELY_MS))) return undefined;
  const repeated = restartCount >= REPEATED;
  if (end.reason === "OOMKilled") return outOfMemory(name, repeated);
  const goesOn = waits || (repeated && !isSteady(context, status));
  return goesOn ? crashes(context, status, end) : undefined;
}

function isSteady({ patience }: PodContext, { state: { running } }: ContainerFacts): boolean {
  return running !== undefined && patience.over(running.startedAt, STEADY_MS);
}

const MEMORY_FIXES: Readonly<Record<string, string>> = {
  valkey:
    "Raise spec.resources.limits.memory, or lower maxmemory in spec.config: buffers of clients and replicas, and the copy made while saving, come on top of it.",
  exporter: "Raise spec.exporter.resources.limits.memory.",
};

function outOfMemory(name: string, repeated: boolean): Draft {
  return {
    reason: "OutOfMemory",
    severity: repeated ? "error" : "warning",
    what: `container ${name} was killed because it needed more memory than its limit${repeated ? ", more than once" : ""}`,
    fix: MEMORY_FIXES[name] ?? "Report this with the pod's logs: the agent should never need so much.",
  };
}

function crashes(
  { pod, facts }: PodContext,
  { name }: ContainerFacts,
  end: { exitCode: number; reason: string },
): Draft {
  const logs = `kubectl logs ${pod.metadata.name} -c ${name} --previous -n ${facts.namespace} shows why`;
  const cause = name === "valkey" ? "; a wrong value in spec.config is a usual cause" : "";
  return {
    reason: "CrashLoop",
    severity: "error",
    what: `container ${name} ends again and again`,
    detail: `it ended with ${end.exitCode}${end.reason === "Error" || end.reason === "Completed" ? "" : ` (${end.reason})`}`,
    fix: `${logs}${cause}.`,
  };
}

/** An init container that runs and does not pass its startup probe keeps all the others from starting. */
function notStarting({ pod, patience, facts }: PodContext, status: ContainerFacts): Draft | undefined {
  const { name, started, state } = status;
  if (started !== false || state.running === undefined) return undefined;
  if (!patience.over(state.running.startedAt, STARTING_MS)) return undefined;
  return {
    reason: "InitNotDone",
    severity: "error",
    what: `container ${name} runs but is not done starting, and the others wait for it`,
    fix: `kubectl logs ${pod.metadata.name} -c ${name} -n ${facts.namespace} shows what it waits for.`,
  };
}
