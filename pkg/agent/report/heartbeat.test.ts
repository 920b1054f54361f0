import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { pino } from "pino";
import { until } from "../../../test/lib/until.ts";
import { systemClock } from "../../clock/clock.ts";
import { Registry } from "../../metrics/metrics.ts";
import { NodeStateSchema } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import { OperatorService } from "../../rpc/gen/valkey/operator/v1/operator_pb.ts";
import { StoredIdentity } from "../../rpc/identity.ts";
import { rpcMetrics } from "../../rpc/rpc-metrics.ts";
import { RpcServer } from "../../rpc/server.ts";
import { NODE, OPERATOR, startClients, TestAuthority, TRUST_DOMAIN } from "../../rpc/test-peers.ts";
import { Heartbeat } from "./heartbeat.ts";
import { OperatorLink } from "./operator-link.ts";

const log = pino({ level: "silent" });
const EVERY_MS = 200;

test("an agent with news all the time that its leader knows already is heard of all the same", async () => {
  const authority = await TestAuthority.make();
  const heard: boolean[] = [];
  const server = await RpcServer.listen({
    name: "operator",
    host: "127.0.0.1",
    identity: new StoredIdentity(await authority.identity(OPERATOR)),
    own: { trustDomain: TRUST_DOMAIN, operatorNamespace: OPERATOR.namespace },
    metrics: rpcMetrics(new Registry()),
    log,
    routes: (router) =>
      router.service(OperatorService, {
        heartbeat: ({ state }) => {
          heard.push(state !== undefined);
          return { leading: true };
        },
        report: () => ({}),
      }),
  });
  using clients = startClients(await authority.identity(NODE));
  let looks = 0;
  const heartbeat = new Heartbeat({
    clock: systemClock,
    log,
    random: () => 0.5,
    link: new OperatorLink(clients, `https://127.0.0.1:${server.port}`, OPERATOR),
    bootId: "boot",
    state: async () => create(NodeStateSchema, { bootId: "boot" }),
    before: async () => void (looks += 1),
    everyMs: EVERY_MS,
  });
  const stop = new AbortController();
  const running = heartbeat.run(stop.signal);
  const poking = setInterval(() => heartbeat.poke(), 10);
  try {
    await until("five heartbeats", () => heard.length >= 5);
  } finally {
    clearInterval(poking);
    stop.abort();
    await running;
    await server.stop(AbortSignal.abort());
  }
  expect(heard.slice(0, 5)).toEqual([true, false, false, false, false]);
  expect(looks).toBeGreaterThanOrEqual(5);
});
