/** What wakes a node: its own objects, what its pod waits for, where its pod runs, what its agent says. */
import { type ObjectCache, type Source, watches } from "../../kube/controller.ts";
import { type KubeObject, keyOf } from "../../kube/resource.ts";
import { CR_LABEL, NODE_LABEL } from "../../plan/objects/names.ts";
import { type AgentReports, reportView } from "./agent-reports.ts";
import type { NodeCaches } from "./observe.ts";

export function nodeSources(caches: NodeCaches, reports: AgentReports): Source[] {
  return [
    watches(caches.nodes, (node) => [keyOf(node)], { priority: "high" }),
    // An object that a stranger relabels leaves the cache like a deleted one, and is told with its last labels.
    watches(caches.statefulSets, keyOfNode),
    watches(caches.deployments, keyOfNode),
    watches(caches.services, keyOfNode),
    watches(caches.claims, keyOfNode),
    watches(caches.pods, keyOfNode),
    arrivals(caches.configMaps, (object) => keysWaitingFor(caches, object)),
    ...caches.secrets.map((secrets) => arrivals(secrets, (object) => keysWaitingFor(caches, object))),
    ...(caches.machines === undefined ? [] : [moves(caches)]),
    news(reports),
  ];
}

function keyOfNode({ metadata: { namespace, labels } }: KubeObject): string[] {
  const node = labels?.[NODE_LABEL];
  return node === undefined || namespace === undefined ? [] : [`${namespace}/${node}`];
}

/** Only that something is there now matters: a pod that runs has what it mounts. */
function arrivals(cache: ObjectCache<KubeObject>, keysOf: (object: KubeObject) => readonly string[]): Source {
  return {
    subscribe: (wake) =>
      cache.subscribe(({ type, object }) => {
        if (type === "add") for (const key of keysOf(object)) wake(key, "normal");
      }),
  };
}

/** What belongs to one node says so; the rest is for all nodes of its cluster. */
function keysWaitingFor({ nodes }: NodeCaches, object: KubeObject): string[] {
  const own = keyOfNode(object);
  const { namespace, labels } = object.metadata;
  const cluster = labels?.[CR_LABEL];
  if (own.length > 0 || cluster === undefined) return own;
  return nodes
    .list()
    .filter(({ metadata, spec }) => metadata.namespace === namespace && spec.parent.name === cluster)
    .map(keyOf);
}

/** A Node's status changes all the time; its zone hardly ever. */
function moves({ machines, pods }: NodeCaches): Source {
  return {
    subscribe: (wake) =>
      machines?.subscribe((change) => {
        if (change.type === "update" && change.old.zone === change.object.zone) return;
        const { name } = change.object.metadata;
        const here = pods.list().filter(({ spec }) => spec.nodeName === name);
        for (const key of here.flatMap(keyOfNode)) wake(key, "low");
      }) ?? (() => undefined),
  };
}

/** A report comes every few seconds; what is shown of it seldom changes. */
function news(reports: AgentReports): Source {
  return {
    subscribe: (wake) => {
      const told = new Map<string, string>();
      return reports.subscribe((namespace, node) => {
        const key = `${namespace}/${node}`;
        const state = reports.stateOf(namespace, node);
        const text = state === undefined ? "" : JSON.stringify(reportView(state));
        if (told.get(key) === text) return;
        if (text === "") told.delete(key);
        else told.set(key, text);
        wake(key, "high");
      });
    },
  };
}
