import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { Connection } from "../../../test/lib/resp/connection.ts";
import { within } from "../../../test/lib/until.ts";
import { HandoverServer } from "./handover-server.ts";

let folder: string;
let path: string;
let server: HandoverServer;
let handover: () => Promise<string>;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "handover-"));
  path = join(folder, "agent.sock");
  handover = () => Promise.resolve("OK");
  server = await HandoverServer.listen({ path, log: pino({ level: "silent" }), handover: () => handover() });
});
afterEach(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

test("answers in order, waiting for the handover", async () => {
  const done = Promise.withResolvers<string>();
  handover = () => done.promise;
  const client = await Connection.open({ at: { path } });
  const answers = Promise.all([client.send("handover"), client.send("PING"), client.send("COMMAND", "DOCS")]);
  done.resolve("handed over\r\nto c-0-1");
  expect(await answers).toEqual(["handed over to c-0-1", "PONG", []]);
  client.close();
});

test("a handover that fails is an answer, and so is what is not known", async () => {
  handover = () => Promise.reject(new Error("secret reason"));
  const client = await Connection.open({ at: { path } });
  expect(String(await client.send("HANDOVER"))).toContain("the handover failed");
  expect(String(await client.send("GET", "x"))).toContain("PING and HANDOVER");
  client.close();
});

test("what is not Valkey's protocol, or has no end, is cut off", async () => {
  for (const piece of ["GET / HTTP/1.1\r\n\r\n", `*1\r\n$9000\r\n${"x".repeat(8000)}`]) {
    const socket = connect(path);
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.on("data", () => {});
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    socket.write(piece);
    await within("the end of the connection", 2000, () => promise);
  }
});

test("takes the place of one that was killed", async () => {
  const again = await HandoverServer.listen({ path, log: pino({ level: "silent" }), handover });
  const client = await Connection.open({ at: { path } });
  expect(await client.send("PING")).toBe("PONG");
  client.close();
  again.close();
});
