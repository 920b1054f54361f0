/** Streams between agents, on real sockets with real certificates. */
import { expect, test } from "bun:test";
import { until } from "../../test/lib/until.ts";
import type { NodeIdentity } from "../pki/pki.ts";
import { NODE, OPERATOR, PEER, startAgent, startClients, TestAuthority } from "./test-peers.ts";

const authority = await TestAuthority.make();
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (answer: Uint8Array) => new TextDecoder().decode(answer);

/** An agent that answers with who asked and what. */
async function answering() {
  return startAgent(await authority.identity(NODE), {
    answerPeer: async (question, caller) => bytes(`${caller.node}: ${text(question)}`),
  });
}

test("questions are answered, each with its own answer", async () => {
  await using agent = await answering();
  using clients = startClients(await authority.identity(PEER));
  const asker = clients.asker(agent.target, NODE);
  const answers = await Promise.all(["a", "b", "c"].map((word) => asker.ask(bytes(word), 2000)));
  expect(answers.map(text)).toEqual(["a", "b", "c"].map((word) => `${PEER.node}: ${word}`));
});

test.each<readonly [string, NodeIdentity | typeof OPERATOR]>([
  ["a node of another deployment", { ...PEER, name: "another" }],
  ["the operator", OPERATOR],
])("%s gets no answer, and that is counted", async (_, who) => {
  await using agent = await answering();
  using clients = startClients(await authority.identity(who));
  const refused = await clients.asker(agent.target, NODE).ask(bytes("hello"), 2000).catch(String);
  expect(refused).toContain("Error");
  expect(agent.refusals("wrong-deployment") + agent.refusals("role-not-allowed")).toBe(1);
});

test("an asker that is closed while it opens asks nobody and leaves no stream open", async () => {
  let asked = 0;
  await using agent = await startAgent(await authority.identity(NODE), {
    answerPeer: async (question) => {
      asked += 1;
      return question;
    },
  });
  using clients = startClients(await authority.identity(PEER));
  const asker = clients.asker(agent.target, NODE);
  const refused = asker.ask(bytes("hello"), 2000).catch(String);
  asker.close();
  expect(await refused).toContain("nobody is asked there any more");
  expect(asked).toBe(0);
  const other = clients.asker(agent.target, NODE);
  expect(text(await other.ask(bytes("and now?"), 2000))).toBe("and now?");
});

test("a new certificate takes the place of the old one, and no question is lost", async () => {
  await using agent = await answering();
  using clients = startClients(await authority.identity(PEER));
  const asker = clients.asker(agent.target, NODE);
  let answered = 0;
  const failures: unknown[] = [];
  const stop = new AbortController();
  const asking = (async () => {
    while (!stop.signal.aborted) {
      await asker.ask(bytes("still there?"), 2000).then(
        () => (answered += 1),
        (error: unknown) => failures.push(error),
      );
    }
  })();
  for (let round = 0; round < 3; round += 1) {
    clients.identity.replace(await authority.identity(PEER));
    const before = answered;
    await until("more answers", () => answered > before + 50);
  }
  stop.abort();
  await asking;
  expect(failures).toEqual([]);
});

test("a peer that went away is asked on a new stream when it is back, and one that hangs is given up", async () => {
  const identity = await authority.identity(NODE);
  using clients = startClients(await authority.identity(PEER));
  const first = await answering();
  const { target } = first;
  const asker = clients.asker(target, NODE);
  await asker.ask(bytes("one"), 2000);
  await first[Symbol.asyncDispose]();
  expect(await asker.ask(bytes("two"), 500).catch(String)).toContain("Error");
  const hanging = await startAgent(identity, {
    port: target.port,
    answerPeer: () => Promise.withResolvers<Uint8Array>().promise,
  });
  expect(await asker.ask(bytes("three"), 300).catch(String)).toContain("no answer within 300 ms");
  await hanging[Symbol.asyncDispose]();
  await using again = await startAgent(identity, { port: target.port, answerPeer: async (question) => question });
  expect(again.target).toEqual(target);
  expect(text(await until("an answer", () => asker.ask(bytes("four"), 500)))).toBe("four");
});
