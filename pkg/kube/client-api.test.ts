import { expect, test } from "bun:test";
import type { RequestOptions } from "node:https";
import { kubeConfigOf, pathOf } from "./client-api.ts";

test("the path of a request does not depend on how its server was written", () => {
  expect(pathOf("https://10.96.0.1:443", "https://10.96.0.1/api/v1/pods?limit=1")).toBe("/api/v1/pods?limit=1");
  expect(pathOf("https://proxy.example/k8s/c1", "https://proxy.example/k8s/c1/version")).toBe("/version");
  expect(pathOf("https://[fd00::1]:6443", "https://[fd00::1]:6443/api")).toBe("/api");
});

test("client-node's own configuration carries the same identity", async () => {
  const credential = { headers: { authorization: "Bearer t" }, cert: "CERT", key: "KEY" };
  const config = await kubeConfigOf({
    server: "https://api.example",
    userAgent: "test",
    namespace: "ns",
    tls: () => ({ ca: "CA", servername: "other" }),
    credentials: { current: async () => credential, refused: () => undefined },
  });
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  expect([options.ca, options.cert, options.key].map(String)).toEqual(["CA", "CERT", "KEY"]);
  expect(options).toMatchObject({ servername: "other", headers: { Authorization: "Bearer t" } });
  expect(config.getCurrentCluster()?.server).toBe("https://api.example");
});
