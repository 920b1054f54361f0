/** https FOLDER NAME PORT COUNT: requests one after another through one keep-alive agent, as the API client makes them. */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { say } from "./say.ts";

export async function fetchRepeatedly([
  folder = ".",
  name = "",
  port = "",
  count = "1",
]: readonly string[]): Promise<void> {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    cert: readFileSync(join(folder, `${name}.crt`)),
    key: readFileSync(join(folder, `${name}.key`)),
    ca: readFileSync(join(folder, "ca.crt")),
  });
  for (let turn = 0; turn < Number(count); turn++) say({ body: await get(agent, port) });
  agent.destroy();
}

function get(agent: Agent, port: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const options = { host: "127.0.0.1", port, path: "/", agent, timeout: 5000 };
  const sent = request(options, (response) => void text(response).then(resolve, reject));
  sent.on("timeout", () => sent.destroy(new Error("no answer within 5 s")));
  sent.on("error", reject);
  sent.end();
  return promise;
}
