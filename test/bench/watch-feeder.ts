/**
 * An API server's list and watch as fast as they can be sent, for measuring the reader: PODS pods, then FRAMES frames
 * of changes to them. Prints where it listens, then serves until its standard input ends.
 */

import type { ServerResponse } from "node:http";
import * as https from "node:https";
import type { AddressInfo } from "node:net";
import { podBody } from "../lib/pods.ts";
import { selfSigned } from "../lib/self-signed.ts";

const pods = Number(process.env["PODS"] ?? "1000");
const frames = Number(process.env["FRAMES"] ?? "20000");
const BATCH = 64;

function podAt(n: number, version: number): object {
  const body = podBody("bench", `pod-${n}`);
  const metadata = { ...body.metadata, uid: `uid-${n}`, resourceVersion: String(version), managedFields: managed };
  return { apiVersion: "v1", kind: "Pod", ...body, metadata, status: { phase: "Running", podIP: "10.0.0.1" } };
}

const managed = Array.from({ length: 20 }, (_, n) => ({ manager: "bench", fieldsV1: { [`f:field-${n}`]: {} } }));
const list = JSON.stringify({
  metadata: { resourceVersion: "1000" },
  items: Array.from({ length: pods }, (_, n) => podAt(n, 1)),
});
const lines = Array.from(
  { length: frames },
  (_, n) => `${JSON.stringify({ type: "MODIFIED", object: podAt(n % pods, 1001 + n) })}\n`,
);
const batches = Array.from({ length: Math.ceil(frames / BATCH) }, (_, n) =>
  Buffer.from(lines.slice(n * BATCH, (n + 1) * BATCH).join("")),
);

async function stream(response: ServerResponse): Promise<void> {
  for (const batch of batches) {
    if (response.write(batch)) continue;
    await drained(response);
    if (response.destroyed) return;
  }
  response.end();
}

async function drained(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once("drain", resolve);
  response.once("close", resolve);
  await promise;
  response.off("drain", resolve);
  response.off("close", resolve);
}

const { cert, key } = await selfSigned("127.0.0.1");
const server = https.createServer({ cert, key }, (request, response) => {
  if (request.url?.includes("watch=true") === true) void stream(response);
  else response.end(list);
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ port, ca: cert, bytes: lines.join("").length })}\n`);
});
await Bun.stdin.text();
process.exit(0);
