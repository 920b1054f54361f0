/** The API server over plain HTTP on loopback, through `kubectl proxy`: the simplest way for a test to speak to it. */
import type { ApiCall } from "../../pkg/webhook/kube-certificate-store.ts";

export const KUBECTL = (process.env.KUBECTL ?? "kubectl").split(" ");

export interface KubectlProxy {
  readonly url: string;
  readonly call: ApiCall;
  stop(): Promise<void>;
}

export async function kubectlProxy(): Promise<KubectlProxy> {
  const child = Bun.spawn([...KUBECTL, "proxy", "--port=0"], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const reader = child.stdout.getReader();
  let said = "";
  while (!said.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`kubectl proxy ended: ${said}`);
    said += new TextDecoder().decode(value);
  }
  const url = `http://${/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? ""}`;
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  return { url, call: callOver(url), stop };
}

function callOver(url: string): ApiCall {
  return async ({ method, path, contentType, body, signal }) => {
    const init = { method, headers: { "content-type": contentType }, signal, ...(body === undefined ? {} : { body }) };
    const response = await fetch(url + path, init);
    return { status: response.status, body: await response.text() };
  };
}

/** Runs kubectl to its end and gives what it said, also when it failed. */
export async function kubectl(args: readonly string[], input = ""): Promise<{ code: number; text: string }> {
  const child = Bun.spawn([...KUBECTL, ...args], { stdin: new Blob([input]), stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, text: out + err };
}
