/** Single objects of others, watched by their names: absence is known, changes are told, and nothing is watched for nobody. */
import { afterAll, expect, test } from "bun:test";
import { NamedCaches } from "../../pkg/kube/named-caches.ts";
import { CONFIG_MAPS, type LooseObject } from "../../pkg/kube/resource.ts";
import { clientOf, withNamespace } from "../lib/kube.ts";
import { until } from "../lib/until.ts";

const client = clientOf();
afterAll(() => client.close());

test("an object is unknown, absent, there, changed, and forgotten when nobody wants it any more", async () => {
  await withNamespace(client, async (namespace) => {
    const ref = { namespace, name: "wanted" };
    const caches = new NamedCaches<LooseObject>(client, { resource: CONFIG_MAPS });
    const heard: string[] = [];
    const known: string[] = [];
    caches.subscribe(({ type, object }) => heard.push(`${type} ${object.metadata.name}`));
    caches.onKnown((key) => known.push(key));
    caches.want("one", [ref]);
    caches.want("two", [ref]);
    expect(caches.find(ref)).toEqual({ is: "unknown" });
    const stop = new AbortController();
    const running = caches.run(stop.signal);
    await until("it is known to be absent", () => caches.find(ref).is === "absent");
    expect(known).toEqual([`${namespace}/wanted`]);
    await client.create(CONFIG_MAPS, { metadata: { namespace, name: "other" } });
    await client.create(CONFIG_MAPS, { metadata: ref, data: { a: "1" } });
    await until("it is there", () => caches.find(ref).is === "there");
    await client.patch(CONFIG_MAPS, ref, { type: "merge", body: { data: { a: "2" } } });
    await until("its change is heard", () => heard.includes("update wanted"));
    expect(heard).toEqual(["add wanted", "update wanted"]);
    caches.want("one", []);
    expect(caches.find(ref).is).toBe("there");
    caches.want("two", []);
    expect(caches.find(ref)).toEqual({ is: "unknown" });
    stop.abort(new Error("done"));
    await running;
  });
});
