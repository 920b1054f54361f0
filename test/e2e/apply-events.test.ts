/** Events on a real API server: told once, repeated as a series, readable with kubectl. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { EventRecorder, eventStore } from "../../pkg/kube/events.ts";
import { CONFIG_MAPS, EVENTS, type LooseObject, NAMESPACES } from "../../pkg/kube/resource.ts";
import { createLogger } from "../../pkg/log/log.ts";
import { clientOf } from "../lib/kube.ts";
import { until } from "../lib/until.ts";

const client = clientOf();
const namespace = `events-${Date.now().toString(36)}`;

beforeAll(async () => {
  await client.create(NAMESPACES, { metadata: { name: namespace } });
});

afterAll(async () => {
  await client.delete(NAMESPACES, { name: namespace });
  client.close();
});

async function eventually(holds: (events: readonly LooseObject[]) => boolean): Promise<readonly LooseObject[]> {
  return until("the events come", async () => {
    const { items } = await client.list(EVENTS, { namespace });
    return holds(items) && items;
  });
}

test("an event and its repetitions are one object; what is secret is not in it", async () => {
  const subject = await client.create(CONFIG_MAPS, { metadata: { namespace, name: "subject" } });
  const log = createLogger({ program: "test", level: "warn" });
  const recorder = new EventRecorder({
    store: eventStore(client),
    controller: "valkey.io/operator",
    instance: "e2e",
    log,
    seriesMs: 200,
  });
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  const regarding = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "subject", uid: subject.metadata.uid };
  const tell = () =>
    recorder.record({
      regarding,
      type: "Warning",
      reason: "AclRefused",
      action: "ApplyAcl",
      note: "ACL SETUSER app on >hunter2",
    });
  tell();
  const [first] = await eventually((events) => events.length === 1);
  expect(first).toMatchObject({
    note: "ACL SETUSER app on [redacted]",
    type: "Warning",
    reason: "AclRefused",
    action: "ApplyAcl",
    reportingController: "valkey.io/operator",
    regarding: { kind: "ConfigMap", name: "subject" },
  });
  for (let n = 0; n < 9; n += 1) tell();
  const after = await eventually((events) => JSON.stringify(events).includes('"count":10'));
  expect(after).toHaveLength(1);
  expect(after[0]?.metadata.name).toBe(first?.metadata.name ?? "");
  stop.abort();
  await running;
}, 300_000);

test("what is about a kind without a namespace goes to default", async () => {
  const log = createLogger({ program: "test", level: "warn" });
  const recorder = new EventRecorder({
    store: eventStore(client),
    controller: "valkey.io/operator",
    instance: "e2e",
    log,
  });
  const reason = `Made${Date.now()}`;
  const regarding = { apiVersion: "v1", kind: "Namespace", name: namespace };
  recorder.record({ regarding, type: "Normal", reason, action: "Test", note: "hello" });
  await recorder.run(AbortSignal.abort(), 30_000);
  const { items } = await client.list(EVENTS, { namespace: "default", fieldSelector: `reason=${reason}` });
  expect(items).toHaveLength(1);
});
