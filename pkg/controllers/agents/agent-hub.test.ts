import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ConnectRouter } from "@connectrpc/connect";
import { pino } from "pino";
import { until } from "../../../test/lib/until.ts";
import { systemClock } from "../../clock/clock.ts";
import { momentOf, Term } from "../../kube/lease-term.ts";
import { AgentService } from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import { ServerPhase } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import {
  NODE,
  OPERATOR,
  startAgent,
  startClients,
  TestAuthority,
  type TestClients,
  type TestServer,
} from "../../rpc/test-peers.ts";
import { AgentHub, type AgentTarget } from "./agent-hub.ts";

let authority: TestAuthority;
let clients: TestClients;
beforeAll(async () => {
  authority = await TestAuthority.make();
  clients = startClients(await authority.identity(OPERATOR));
});
afterAll(() => clients.close());

interface Behaviour {
  readonly own?: () => Promise<void>;
  readonly state?: () => Promise<void>;
}

function routes({ own, state }: Behaviour) {
  return (router: ConnectRouter) => {
    router.service(AgentService, {
      getState: async () => {
        await state?.();
        return { state: { bootId: "b1", server: { phase: ServerPhase.RUNNING } } };
      },
      own: async () => {
        await own?.();
        return {};
      },
    });
  };
}

async function agent(behaviour: Behaviour = {}): Promise<TestServer> {
  return startAgent(await authority.identity(NODE), { routes: routes(behaviour) });
}

function leadingHub(server: TestServer) {
  const hub = new AgentHub({ log: pino({ level: "silent" }), agentPort: server.target.port });
  hub.use(clients);
  const term = new Term({ clock: systemClock, token: 7, renewDeadlineMs: 60_000, since: momentOf(systemClock) });
  return { hub, running: hub.start(term) };
}

const target: AgentTarget = { namespace: "shop", cluster: "cart", node: "cart-0-0", ip: "127.0.0.1", podUid: "p1" };

const OWN = {
  step: "own",
  timeoutMs: 2000,
  send: (client, limits) => client.own({ nodeId: "id" }, limits),
} satisfies Parameters<AgentHub["command"]>[1];

test("an agent is not known before it was asked, and known at once afterwards", async () => {
  await using server = await agent();
  const { hub, running } = leadingHub(server);
  expect(hub.sight(target).contact.known).toBe("not-asked");
  hub.watch("shop/cart", [target], true);
  await until("it answered", async () => hub.sight(target).contact.known === "answer");
  await running.stop(0);
});

test("one that is not there is known to be unreachable, and its key is woken", async () => {
  await using server = await agent();
  const { hub, running } = leadingHub(server);
  const woken: string[] = [];
  hub.subscribe(({ deployment }) => woken.push(deployment));
  hub.watch("shop/cart", [{ ...target, node: "cart-0-1" }], true);
  await until("it is missed", async () => woken.includes("shop/cart"));
  expect(hub.sight({ ...target, node: "cart-0-1" }).contact.known).toBe("unreachable");
  await running.stop(0);
});

test("a refused command is kept with its words, and the agent is left alone for a moment", async () => {
  await using server = await agent({
    own: async () => {
      throw new Error("it has keys of its own");
    },
  });
  const { hub, running } = leadingHub(server);
  await hub.command(target, OWN);
  const { failure, busy } = hub.sight(target);
  expect(failure?.step).toBe("own");
  expect(busy).toBe("own");
  await until("it may be asked again", async () => hub.sight(target).busy === undefined);
  await running.stop(0);
});

test("a command that takes long goes on while others are planned", async () => {
  const gate = Promise.withResolvers<void>();
  await using server = await agent({ own: () => gate.promise });
  const { hub, running } = leadingHub(server);
  await hub.command(target, OWN);
  expect(hub.sight(target).busy).toBe("own");
  gate.resolve();
  await until("it is done", async () => hub.sight(target).busy === undefined);
  expect(hub.sight(target).failure).toBeUndefined();
  await running.stop(0);
});

test("a replica that does not lead commands nobody", async () => {
  await using server = await agent();
  const { hub, running } = leadingHub(server);
  await running.stop(0);
  expect([hub.leading, hub.fencingToken]).toEqual([false, undefined]);
  await hub.command(target, OWN);
  expect(hub.sight(target).failure?.message).toContain("does not lead");
});
