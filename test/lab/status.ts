/** What a person wants to know of a lab: is it up, what runs on it, what does it cost, where are the logs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cgroupVersion, processesOf } from "./cgroup.ts";
import { initOf, RESTARTED } from "./host.ts";
import { kubectl, type Lab } from "./lab.ts";

export async function printStatus(lab: Lab): Promise<void> {
  const hosts = [lab.control, ...lab.nodes.map((node) => node.name)];
  const powered = hosts.filter((host) => initOf(host) !== undefined);
  if (powered.length === 0) {
    console.log(`lab "${lab.lab}" is down. Bring it up with: npm run lab -- --name ${lab.lab} up`);
    return;
  }
  const nodes = await kubectl(lab, ["get", "nodes", "-L", "topology.kubernetes.io/zone"]).catch(String);
  const memory = hosts.flatMap(processesOf).reduce((sum, pid) => sum + residentKiB(pid), 0);
  console.log(
    `lab "${lab.lab}": ${powered.length} of ${hosts.length} hosts on, ${Math.round(memory / 1024)} MiB resident, cgroup v${cgroupVersion()}`,
  );
  console.log(nodes.trimEnd());
  console.log(
    `kubeconfig  ${lab.kubeconfig} (reachable from inside: npm run lab -- --name ${lab.lab} kubectl get pods -A)`,
  );
  console.log(`logs        ${lab.home}/{control,node0,node1,node2}/log`);
}

/** What a lab looks like when something failed on it. */
export async function lookOf(lab: Lab): Promise<string> {
  const ask = async (...words: string[]) =>
    `$ kubectl ${words.join(" ")}\n${await kubectl(lab, words).catch((error: unknown) => String(error))}`;
  return [
    `lab "${lab.lab}"`,
    await ask("get", "nodes"),
    await ask("get", "pods", "-A", "-o", "wide", "--field-selector=status.phase!=Running"),
    await ask("get", "pods", "-n", "valkey-operator-system", "-o", "wide"),
    ...(await restarts(lab)),
  ].join("\n");
}

/** What its programs said before they were started again. */
async function restarts(lab: Lab): Promise<string[]> {
  const logs = [...new Bun.Glob("*/log/*.log").scanSync({ cwd: lab.home })].toSorted();
  const found = logs.map(async (log) => {
    const lines = (await Bun.file(join(lab.home, log)).text()).split("\n");
    const last = lines.findLastIndex((line) => line.startsWith(RESTARTED));
    return last === -1 ? [] : [`${log}:`, ...lines.slice(Math.max(0, last - 3), last + 1).map(cut)];
  });
  return (await Promise.all(found)).flat();
}

function cut(line: string): string {
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

function residentKiB(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0; // It ended while we looked.
  }
}
