/** Pods come and go: deleted with grace or without, lost with their machine, back with what their disk kept. */
import type { Node } from "./node.ts";
import type { DiskAfter } from "./server.ts";
import type { World } from "./world.ts";

const GRACE_MS = 10_000;
/** How long until the operator has proof that a machine is gone for good, and agents have its word. */
const PROOF_MS = 6000;

/** The pod is gone at once, its agent and its server with it. Its tmpfs goes too. */
export function removePod(world: World, node: Node, disk: DiskAfter): void {
  if (node.gone) return;
  world.log(`pod ${node.name} is gone, its disk is ${disk}`);
  node.server.end(disk);
  node.agent.kill();
  node.agent.persisted = undefined;
  node.gone = true;
  node.frozen = false;
  tellAgentGone(world, node);
  reportEnded(world, node);
}

/** kubelet has reported the end of the pod, and the operator tells it. */
function reportEnded(world: World, node: Node): void {
  const { boots } = node.agent;
  world.events.after(world.operator.between(300, 3000), () => {
    if (!node.gone || node.agent.boots !== boots) return;
    world.log(`operator: ${node.name} is stopped`);
    world.stopped.add(node.index);
    tellStopped(world);
  });
}

/** An operator that is away just then goes on saying what was true. */
function reportBack(world: World, node: Node): void {
  world.events.after(world.operator.pick([1, 200, 6000]), () => {
    if (node.gone || !world.stopped.delete(node.index)) return;
    world.log(`operator: ${node.name} is not stopped any more`);
    tellStopped(world);
  });
}

function tellStopped(world: World): void {
  for (const node of world.nodes) {
    const tell = (): void => {
      if (node.frozen) world.events.after(100, tell);
      else node.agent.feed(world, node, { kind: "sightings", ...world.sightings() });
    };
    world.events.after(world.operator.between(1, 200), tell);
  }
}

/** What an operator must not do: who is not heard of may well run. */
export function trustSilence(world: World): void {
  world.events.after(500, () => trustSilence(world));
  const silent = world.nodes.filter((node) => node.frozen || (!node.gone && isCutOff(world, node)));
  const fresh = silent.filter(({ index }) => !world.stopped.has(index));
  for (const { index } of fresh) world.stopped.add(index);
  if (fresh.length > 0) tellStopped(world);
}

export function returnPod(world: World, node: Node): void {
  if (!node.gone) return;
  node.gone = false;
  node.leaving = false;
  const wasLost = world.lost.delete(node.index);
  world.log(`pod ${node.name} is back`);
  reportBack(world, node);
  node.agent.start(world, node);
  // The agent is there before the server; how long before, depends on its image.
  const { run } = node.server;
  world.events.after(world.random.pick([0, 0, 4000]), () => {
    if (!node.gone && node.server.run === run && node.server.phase === "down") world.arriveAtGate(node);
  });
  if (wasLost) tellSightings(world);
}

/** The machine is gone for good: the operator says so once it has proof. */
export function loseForGood(world: World, node: Node): void {
  removePod(world, node, "empty");
  // A pod that was gone already has its disk on that machine all the same.
  node.server.end("empty");
  const { boots } = node.agent;
  world.events.after(PROOF_MS + world.random.below(1000), () => {
    if (!node.gone || node.agent.boots !== boots) return;
    world.log(`operator: ${node.name} is lost`);
    world.lost.add(node.index);
    tellSightings(world);
  });
}

function tellSightings(world: World): void {
  for (const node of world.nodes) {
    const tell = (): void => {
      if (node.frozen) world.events.after(100, tell);
      else node.agent.feed(world, node, { kind: "sightings", ...world.sightings() });
    };
    world.events.after(1 + world.random.below(200), tell);
  }
}

export function killAgent(world: World, node: Node, forMs: number): void {
  if (!node.agent.up || node.gone || node.frozen) return;
  world.log(`agent ${node.name} is killed for ${forMs} ms`);
  node.agent.kill();
  node.agentDiedCutOff = isCutOff(world, node);
  tellAgentGone(world, node);
  // Who waits for its handover is told that nobody will answer any more.
  if (node.leaving) world.events.after(50, () => finishLeaving(world, node));
  const { boots } = node.agent;
  const restart = (): void => {
    if (node.gone || node.agent.up || node.agent.boots !== boots) return;
    if (node.frozen) {
      world.events.after(100, restart);
      return;
    }
    node.agentBackAt = world.now;
    node.agent.start(world, node);
  };
  world.events.after(forMs, restart);
}

/** On either channel: who asks after a server without an agent does it where servers talk. */
function isCutOff(world: World, node: Node): boolean {
  const connects = (index: number) =>
    world.network.connects("agents", node.index, index) && world.network.connects("bus", node.index, index);
  const reached = world.nodes.filter(({ index, gone, frozen }) => !gone && !frozen && connects(index));
  return reached.length < world.rules.majority(world.nodes.length) + 1;
}

/** A process that ends closes its connections, which those see whom the network reaches. */
function tellAgentGone(world: World, gone: Node): void {
  for (const node of world.nodes) {
    if (node === gone || !world.network.passes("agents", gone.index, node.index)) continue;
    world.events.after(1 + world.random.below(4), () => {
      if (!node.frozen) node.agent.feed(world, node, { kind: "agent-gone", node: gone.name });
    });
  }
}

/** Deletion with grace: the agent is asked to hand over, and the pod goes when it has, or when the grace is over. */
export function deletePod(world: World, node: Node, backAfterMs: number): void {
  if (node.gone || node.leaving || !node.agent.up || node.frozen) return;
  world.log(`pod ${node.name} is deleted`);
  node.leaving = true;
  node.backAfterMs = backAfterMs;
  world.events.after(GRACE_MS, () => finishLeaving(world, node));
  node.agent.feed(world, node, { kind: "leave" });
}

/** A server that is told to end takes no more writes, waits for its replicas and saves what it has. */
export function finishLeaving(world: World, node: Node): void {
  if (!node.leaving || node.gone) return;
  if (node.serverRuns && node.server.role === "primary") drain(world, node);
  removePod(world, node, "current");
  world.events.after(node.backAfterMs, () => returnPod(world, node));
}

function drain(world: World, { index, server }: Node): void {
  for (const replica of world.nodes) {
    const linked = replica.server.primary === index && replica.server.linkUp && replica.server.linkRun === server.run;
    if (!linked || !replica.serverRuns || !world.network.connects("bus", index, replica.index)) continue;
    replica.server.log.push(...server.log.slice(replica.server.log.length));
  }
}
