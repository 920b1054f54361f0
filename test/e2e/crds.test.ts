/** The operator's care for its CRDs, on the real ones. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { KINDS } from "../../pkg/api/api.ts";
import { crdName } from "../../pkg/api/crd.ts";
import { ensureCrds } from "../../pkg/controllers/install/crds.ts";
import { KubeClient } from "../../pkg/kube/client.ts";
import { loadConnection } from "../../pkg/kube/kube-config.ts";
import { CRDS } from "../../pkg/kube/resource.ts";
import { KubeTransport } from "../../pkg/kube/transport.ts";
import { createLogger } from "../../pkg/log/log.ts";

const CRD = { name: "valkeyclusters.valkey.io" };
const OWNED = "app.kubernetes.io/managed-by";
const RELEASE = "valkey.io/release";

const client = new KubeClient(new KubeTransport(loadConnection()));
const log = createLogger({ program: "test", level: "fatal" });
const ensure = (release: string) => ensureCrds({ client, release, log }, AbortSignal.timeout(60_000));

async function annotate(release: string): Promise<void> {
  const body = { metadata: { annotations: { [RELEASE]: release } } };
  await client.patch(CRDS, CRD, { type: "merge", body });
}

async function label(value: string): Promise<void> {
  await client.patch(CRDS, CRD, { type: "merge", body: { metadata: { labels: { [OWNED]: value } } } });
}

/** Of ours: other files' CRDs may be on their way out. */
async function versions(): Promise<readonly (string | undefined)[]> {
  const { items } = await client.list(CRDS);
  const ours = new Set(KINDS.map(crdName));
  return items.filter(({ metadata }) => ours.has(metadata.name)).map(({ metadata }) => metadata.resourceVersion);
}

async function version(): Promise<string | undefined> {
  return (await client.get(CRDS, CRD)).metadata.resourceVersion;
}

let original: string;

beforeAll(async () => {
  // An operator may have been here before us with a release of its own.
  const there = await client.find(CRDS, CRD);
  original = there?.metadata.annotations?.[RELEASE] ?? "0.1.0";
  await ensure(original);
});

afterAll(async () => {
  await label("valkey-operator");
  await annotate(original);
  client.transport.close();
});

test("what is right is not written again", async () => {
  const before = await version();
  await ensure(original);
  expect(await version()).toBe(before);
});

test("an older release's CRD is updated, a newer one's is left", async () => {
  await annotate("0.0.1");
  await ensure(original);
  expect((await client.get(CRDS, CRD)).metadata.annotations?.[RELEASE]).toBe(original);
  await annotate("99.0.0");
  const before = await version();
  await ensure(original);
  expect(await version()).toBe(before);
  await annotate(original);
});

test("another operator's CRD is left as it is, and so are all others", async () => {
  await label("helm");
  await annotate("0.0.1");
  const before = await versions();
  const why = await ensure(original).catch((error: unknown) => String(error));
  expect(why).toContain("belong to another operator and were left as they are: valkeyclusters.valkey.io");
  expect(await versions()).toEqual(before);
});
