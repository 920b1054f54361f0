/** Agents as they are, with real servers and a played operator and kubelet. */
import { expect, test } from "bun:test";
import { AgentWorld } from "../../test/lib/agent-world.ts";

test("a pair comes up, is formed by its operator and becomes ready", async () => {
  await using world = await AgentWorld.start({ version: "9.1", shards: 1, replicas: 1 });
  await world.form();
  const primary = await world.pod(0, 0).state();
  expect(primary.server?.version).toStartWith("9.1.");
  expect(primary.applied).toMatchObject({ configurationHash: "first", needsRestart: [], refusals: [] });
  const probe = await fetch(`http://${world.pod(0, 1).at.host}:8445/readyz`);
  expect([probe.status, await probe.text()]).toEqual([200, "ok\n"]);
  expect(world.reports.map(({ reason }) => reason)).toEqual(["GateOpened", "GateOpened"]);
  expect(world.heartbeats.some(({ state }) => state?.server?.ready === true)).toBe(true);
});
