/** Names what differs between two pod templates, for people. */
import type { ValkeyNodeSpec } from "../../api/node.ts";

type Template = ValkeyNodeSpec["podTemplate"];
type Container = Template["spec"]["containers"][number];

export function templateChanges(before: Template, after: Template): string[] {
  const { containers: oldMain, initContainers: oldInit = [], ...oldSpec } = before.spec;
  const { containers: newMain, initContainers: newInit = [], ...newSpec } = after.spec;
  return [
    ...changedKeys({ labels: before.labels, annotations: before.annotations }, after).filter((key) => key !== "spec"),
    ...changedKeys(oldSpec, newSpec),
    ...containerChanges([...oldInit, ...oldMain], [...newInit, ...newMain]),
  ];
}

function containerChanges(before: readonly Container[], after: readonly Container[]): string[] {
  const names = [...new Set([...before, ...after].map(({ name }) => name))];
  return names.flatMap((name) => {
    const [old, now] = [before.find((one) => one.name === name), after.find((one) => one.name === name)];
    if (old === undefined) return [`container ${name} is added`];
    if (now === undefined) return [`container ${name} is removed`];
    return changedKeys(old, now).map((key) =>
      key === "image" ? `image of ${name} (${old.image ?? ""} to ${now.image ?? ""})` : `${key} of ${name}`,
    );
  });
}

function changedKeys(before: object, after: object): string[] {
  const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const keys = [...new Set([...old.keys(), ...now.keys()])];
  return keys.filter((key) => !Bun.deepEquals(old.get(key), now.get(key)));
}
