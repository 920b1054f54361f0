/** One place of a cluster as a rolling change sees it. */
import { ownsSlots, stateOf, tableOf } from "../formation/member.ts";
import { countSlots } from "../formation/slots.ts";
import type { ClusterTable, MemberView } from "../formation/view.ts";
import { podState } from "../lifecycle/template.ts";
import type { Desired, DesiredNode } from "../objects/types.ts";
import type { MemberAnswer, RolloutMember } from "../rollout/view.ts";
import { MOUNT_MS, mountPendingSince } from "../trouble/claim.ts";
import { memberOf } from "./members.ts";
import type { NodeNow, PodNow } from "./view.ts";

export interface Wish {
  readonly wanted: DesiredNode;
  readonly configuration: Desired["configuration"];
  /** Ids of the servers that could win an election. */
  readonly electable: ReadonlySet<string>;
  readonly now: Date;
}

export function rolloutMember(place: NodeNow, wish: Wish): RolloutMember {
  const { name, shard, member, pod, agent } = place;
  const restart = needsRestart(place, wish.configuration);
  const refusals = (agent.facts?.refusals ?? []).map((refusal) => refusal.name);
  return {
    name,
    shard,
    member,
    ...podView(pod, wish),
    outdated: isOutdated(place, wish.wanted) || restart || needsMount(place, wish.now),
    letGo: isLetGo(place),
    answer: answerOf(memberOf(place, wish.now), wish.electable),
    silence: agent.contact.known === "unreachable" ? agent.contact.why : "",
    refused: refusals.filter((what) => what !== "acl" && what !== "tls"),
    troubles: [...(agent.facts?.troubles ?? []).map(({ message }) => message), ...leftOut(place, restart)],
  };
}

type PodView = Pick<RolloutMember, "pod" | "going" | "holdsNothing" | "ready" | "readySince">;

function podView(pod: PodNow | undefined, { wanted, now }: Wish): PodView {
  const going = isGoing(pod);
  const state = podState(pod);
  const readiness = pod?.status.conditions.find(({ type, status }) => type === "Ready" && status === "True");
  const ready = readiness !== undefined && !going;
  const unable = state === "unable" && wanted.spec.storage !== undefined;
  return {
    pod: state,
    going,
    holdsNothing: pod === undefined || state === "unstarted" || unable,
    ready,
    readySince: ready ? new Date(readiness.lastTransitionTime ?? now) : undefined,
  };
}

function isLetGo({ node, pod }: NodeNow): boolean {
  return node?.spec.replacePod !== undefined && node.spec.replacePod === pod?.metadata.uid;
}

function isGoing(pod: PodNow | undefined): boolean {
  return pod?.metadata.deletionTimestamp !== undefined;
}

/** Of one without a pod, or whose pod goes: whether the next one will be outdated. */
function isOutdated({ node, pod }: NodeNow, { spec }: DesiredNode): boolean {
  if (node === undefined) return false;
  return (pod === undefined || isGoing(pod) ? node.spec.podRevision : pod.revision) !== spec.podRevision;
}

/** Only of a pod that is older than the settings: one that was made with them would ask for it for ever. */
export function needsRestart({ pod, agent }: NodeNow, configuration: Desired["configuration"]): boolean {
  const { contact, facts } = agent;
  const made = pod?.metadata.creationTimestamp;
  if (configuration === undefined || made === undefined || isGoing(pod) || contact.known !== "answer") return false;
  const applied = contact.state.applied.configurationHash === configuration.hash;
  const asks = facts !== undefined && facts.needsRestart.length > 0;
  return applied && asks && Date.parse(made) < Number(configuration.sequence);
}

/** Of a pod that was made before its volume grew: the file system of one that is made now grows with its mount. */
export function needsMount({ pod, claim }: NodeNow, now: Date): boolean {
  const made = pod?.metadata.creationTimestamp;
  const since = Date.parse(mountPendingSince(claim) ?? "");
  if (made === undefined || isGoing(pod) || Number.isNaN(since)) return false;
  return Date.parse(made) < since && now.getTime() - since >= MOUNT_MS;
}

/** A server that was started with the newest settings and does not have them has been started without them. */
function leftOut({ agent }: NodeNow, restart: boolean): readonly string[] {
  const { needsRestart: settings = [] } = agent.facts ?? {};
  if (settings.length === 0 || restart) return [];
  return [`its server was started and is still without ${settings.join(", ")}`];
}

function answerOf(member: MemberView, electable: Wish["electable"]): MemberAnswer | undefined {
  const state = stateOf(member);
  if (member.contact.known !== "answer" || state === undefined) return undefined;
  const { version, replication } = state;
  const table = tableOf(member) ?? NO_TABLE;
  return {
    ageMs: member.contact.ageMs,
    nodeId: table.id,
    running: table !== NO_TABLE,
    ownSlots: ownsSlots(table) ? countSlots(table.slots) : 0,
    primaryId: table.primaryId,
    inSync: table.role === "replica" && replication?.inSync === true,
    clusterOk: table.ok,
    slotsAssigned: table.slotsAssigned,
    electable: electable.has(table.id),
    version,
  };
}

const NO_TABLE: ClusterTable = {
  id: "",
  ok: false,
  role: "unknown",
  primaryId: "",
  configEpoch: 0,
  currentEpoch: 0,
  slotsAssigned: 0,
  slots: [],
  nodes: [],
};
