import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConnection } from "./kube-config.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kube-config-"));
});
afterAll(async () => rm(folder, { recursive: true }));

const base64 = (text: string) => Buffer.from(text).toString("base64");

async function config(name: string, user: object, cluster: object = {}, context: object = {}): Promise<string> {
  const path = join(folder, name);
  const content = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "here",
    clusters: [{ name: "c", cluster: { server: "https://api.example:6443/", ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "here", context: { cluster: "c", user: "u", ...context } }],
  };
  await writeFile(path, Bun.YAML.stringify(content));
  return path;
}

async function plugin(name: string, lines: readonly string[]): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, ["#!/bin/sh", ...lines, ""].join("\n"));
  await chmod(path, 0o755);
  return path;
}

async function failure(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "it did not fail",
    (error: unknown) => String(error),
  );
}

test("embedded certificates are decoded; the server loses its last slash", async () => {
  const path = await config(
    "certs",
    { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") },
    { "certificate-authority-data": base64("CA"), "tls-server-name": "other" },
    { namespace: "mine" },
  );
  const connection = loadConnection({ kubeconfig: path });
  expect(connection).toMatchObject({ server: "https://api.example:6443", namespace: "mine" });
  expect(connection.tls()).toEqual({ ca: "CA", servername: "other", rejectUnauthorized: true });
  expect(await connection.credentials.current()).toEqual({ headers: {}, cert: "CERT", key: "KEY" });
});

test("a token file is relative to the kubeconfig and read anew once the server refused it", async () => {
  await writeFile(join(folder, "token"), "first\n");
  const { credentials } = loadConnection({ kubeconfig: await config("token-file", { tokenFile: "token" }) });
  const first = await credentials.current();
  expect(first.headers).toEqual({ authorization: "Bearer first" });
  await writeFile(join(folder, "token"), "second\n");
  credentials.refused(first);
  expect((await credentials.current()).headers).toEqual({ authorization: "Bearer second" });
  await rm(join(folder, "token"));
  credentials.refused(first);
  expect((await credentials.current()).headers).toEqual({ authorization: "Bearer second" });
});

test("an exec plugin runs once for many requests, and again when refused or expired", async () => {
  const runs = join(folder, "runs");
  const command = await plugin("plugin", [
    `echo run >> ${runs}`,
    `[ -n "$KUBERNETES_EXEC_INFO" ] && [ "$EXTRA" = yes ] || exit 3`,
    `n=$(wc -l < ${runs} | tr -d ' ')`,
    `expires=2999-01-01T00:00:00Z; [ "$n" = 2 ] && expires=2001-01-01T00:00:00Z`,
    `echo '{"kind":"ExecCredential","status":{"token":"t'$n'","expirationTimestamp":"'$expires'"}}'`,
  ]);
  expect(command).toStartWith(folder);
  const user = { exec: { command: "./plugin", env: [{ name: "EXTRA", value: "yes" }] }, as: "somebody" };
  const { credentials } = loadConnection({ kubeconfig: await config("exec", user) });
  const [one, two] = await Promise.all([credentials.current(), credentials.current()]);
  expect(one.headers).toEqual({ authorization: "Bearer t1", "impersonate-user": "somebody" });
  expect(two).toBe(one);
  expect(await credentials.current()).toBe(one);
  credentials.refused(one);
  const expired = await credentials.current();
  expect(expired.headers["authorization"]).toBe("Bearer t2");
  const fresh = await credentials.current();
  expect(fresh.headers["authorization"]).toBe("Bearer t3");
  credentials.refused(expired);
  expect(await credentials.current()).toBe(fresh);
});

test("an exec plugin that fails is named with its own words and the hint of the kubeconfig", async () => {
  await plugin("failing", ["echo not logged in >&2", "exit 7"]);
  await plugin("silent", ["exit 0"]);
  const failing = { exec: { command: "./failing", installHint: "run: login" } };
  const { credentials } = loadConnection({ kubeconfig: await config("exec-fails", failing) });
  expect(await failure(credentials.current())).toMatch(/failing: it ended with 7: not logged in \(run: login\)/u);
  const silent = loadConnection({ kubeconfig: await config("exec-silent", { exec: { command: "./silent" } }) });
  expect(await failure(silent.credentials.current())).toMatch("not an ExecCredential");
  const missing = loadConnection({
    kubeconfig: await config("exec-none", { exec: { command: "no-such-plugin-here" } }),
  });
  expect(await failure(missing.credentials.current())).toMatch("no-such-plugin-here");
});

test("of several files the first one's entries count, and missing files do not matter", async () => {
  const first = await config("first", { token: "one" });
  const second = await config("second", { token: "two" });
  const env = { KUBECONFIG: [join(folder, "missing"), first, second].join(":") };
  const { credentials } = loadConnection({ env });
  expect((await credentials.current()).headers).toEqual({ authorization: "Bearer one" });
  expect(() => loadConnection({ env: { KUBECONFIG: join(folder, "missing") } })).toThrow("none of the files");
});

test("what is wrong with a kubeconfig is said", async () => {
  const path = await config("plain", { token: "x" });
  expect(() => loadConnection({ kubeconfig: path, context: "there" })).toThrow("no context there (known are: here)");
  const proxied = await config("proxied", {}, { "proxy-url": "http://proxy" });
  expect(() => loadConnection({ kubeconfig: proxied })).toThrow("proxy-url is not supported");
  const legacy = await config("legacy", { "auth-provider": { name: "oidc" } });
  expect(() => loadConnection({ kubeconfig: legacy })).toThrow("use an exec credential plugin");
  await writeFile(join(folder, "broken"), "clusters: 5");
  expect(() => loadConnection({ kubeconfig: join(folder, "broken") })).toThrow("is not a kubeconfig");
  expect(() => loadConnection({ kubeconfig: join(folder, "nowhere") })).toThrow("nowhere");
});

test("a pod uses its service account, also on IPv6", async () => {
  const serviceAccount = join(folder, "serviceaccount");
  await mkdir(serviceAccount);
  for (const [file, text] of Object.entries({ token: "t", namespace: "ns", "ca.crt": "CA" })) {
    await writeFile(join(serviceAccount, file), text);
  }
  const env = { HOME: folder, KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
  const connection = loadConnection({ env, serviceAccount });
  expect(connection).toMatchObject({ server: "https://[fd00::1]:443", namespace: "ns" });
  expect(connection.tls()).toEqual({ ca: "CA" });
  expect((await connection.credentials.current()).headers).toEqual({ authorization: "Bearer t" });
  expect(() => loadConnection({ env: { HOME: folder }, serviceAccount })).toThrow("set KUBECONFIG");
});
