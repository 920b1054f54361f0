/** Our RPC server and clients, compiled as they ship. Their behaviour is tested beside their source; here, the runtime's. */
import { beforeAll, expect, test } from "bun:test";
import { type Ending, Program } from "../lib/program.ts";
import { compiledProbe } from "./compiled-probe.ts";

let ending: Ending;
let messages: Record<string, unknown>;
beforeAll(async () => {
  await using program = new Program([await compiledProbe(), "rpc-stack"]);
  ending = await program.ending();
  messages = Object.assign({}, ...program.messages) as Record<string, unknown>;
}, 120_000);

test("it runs to its end", () => {
  expect(ending).toMatchObject({ code: 0, err: "" });
});

test("a thousand and more calls share a connection, opened with our own look at the name", () => {
  expect(messages["http2"]).toEqual({ connections: 1, looked: ["cart-0-0.shop.svc"] });
});

test("calls over HTTP/1.1 share a connection, although each server's identity is checked by us", () => {
  expect(messages["http1"]).toEqual({ connections: 1 });
});

test("a server with another identity is refused by the client", () => {
  expect(messages["stranger"]).toBe(true);
});

test("a connection of an authority that is trusted no more is closed", () => {
  expect(messages["distrusted"]).toBe(1);
});

test("a handshake that does not come is cut off", () => {
  expect(messages["silent"]).toBe("cut off");
});

test("a server hands out nothing to resume a session with", () => {
  expect(messages).toMatchObject({ tickets: 0, answered: true });
});
