import { expect, test } from "bun:test";
import { KubeClient } from "../pkg/kube/client.ts";
import { errorOfReply } from "../pkg/kube/kube-error.ts";
import { KubeTransport } from "../pkg/kube/transport.ts";
import { SourcedCredentials } from "../pkg/kube/transport-credentials.ts";
import { explained } from "./read-cluster.ts";

/** Never asked here. */
const client = new KubeClient(
  new KubeTransport({
    server: "https://127.0.0.1:1",
    userAgent: "test",
    namespace: "team",
    tls: () => ({}),
    credentials: new SourcedCredentials({}),
  }),
);
const REF = { namespace: "team", name: "cache" };
const action = "get ValkeyCluster team/cache";

test("a Kubernetes without the operator's kinds is told apart from a missing cluster", async () => {
  const unknownGroup = errorOfReply({ action, status: 404, body: "404 page not found\n" });
  expect(String(await explained(client, REF, unknownGroup))).toContain("the operator is not installed");
  const body = JSON.stringify({
    kind: "Status",
    message: "the server could not find the requested resource",
    reason: "NotFound",
    code: 404,
  });
  expect(String(await explained(client, REF, errorOfReply({ action, status: 404, body })))).toContain(
    "kubectl apply -f",
  );
});

test("a missing right is named", async () => {
  const body = JSON.stringify({ kind: "Status", message: "no", reason: "Forbidden", code: 403 });
  const told = String(await explained(client, REF, errorOfReply({ action, status: 403, body })));
  expect(told).toContain("you may not get ValkeyCluster team/cache. In namespace team this command needs the verbs");
});

test("what is no answer of the API server is passed on as it is", async () => {
  const mistake = new TypeError("slots is undefined");
  expect(await explained(client, REF, mistake)).toBe(mistake);
});
