/** For tests: test-agent-program IDENTITY-FILE: an agent in a process of its own, which can be frozen and killed. */
import { readFile } from "node:fs/promises";
import * as v from "valibot";
import { startAgent } from "./test-peers.ts";

const identity = v.parse(
  v.object({ certificate: v.string(), key: v.string(), authorities: v.string() }),
  JSON.parse(await readFile(process.argv[2] ?? "", "utf8")),
);
const { target } = await startAgent(identity);
process.stdout.write(`${JSON.stringify({ port: target.port })}\n`);
