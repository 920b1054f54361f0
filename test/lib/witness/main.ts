/**
 * The witness as a program of its own, so that it can run in the network of a node that is cut off: it writes to the
 * servers that its standard input names, straight and without following any redirection, and prints what was
 * acknowledged. A line on its input replaces the servers; the end of its input ends it.
 */
import { createInterface } from "node:readline";
import * as v from "valibot";
import { Instruction, type WitnessedServer } from "./acknowledgement.ts";
import { runLane } from "./lane.ts";

const EVERY_MS = 50;
const WAITING_EVERY_MS = 100;

const lanes = new Map<string, AbortController>();

function nameOf({ pod, ip, port, tag, replicas }: WitnessedServer): string {
  return [pod, ip, port, tag, replicas].join(" ");
}

function begin(server: WitnessedServer): void {
  const stop = new AbortController();
  lanes.set(nameOf(server), stop);
  const on = (acknowledgement: object) => void process.stdout.write(`${JSON.stringify(acknowledgement)}\n`);
  void runLane({ server, waits: false, everyMs: EVERY_MS, on }, stop.signal);
  if (server.replicas > 0) void runLane({ server, waits: true, everyMs: WAITING_EVERY_MS, on }, stop.signal);
}

function watch(servers: readonly WitnessedServer[]): void {
  const wanted = new Set(servers.map(nameOf));
  for (const [name, stop] of lanes) {
    if (wanted.has(name)) continue;
    stop.abort();
    lanes.delete(name);
  }
  for (const server of servers) if (!lanes.has(nameOf(server))) begin(server);
}

for await (const line of createInterface({ input: process.stdin })) {
  watch(v.parse(Instruction, JSON.parse(line)).servers);
}
// The process ends by itself when the last lane has: nothing that was acknowledged stays unsaid.
watch([]);
