/** Heartbeats and reports, to operators that really serve. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { pino } from "pino";
import { until } from "../../../test/lib/until.ts";
import { systemClock } from "../../clock/clock.ts";
import { FakeClock } from "../../clock/fake-clock.ts";
import { NodeStateSchema, ServerPhase } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import {
  type HeartbeatRequest,
  OperatorService,
  type ReportRequest,
} from "../../rpc/gen/valkey/operator/v1/operator_pb.ts";
import type { TlsIdentity } from "../../rpc/identity.ts";
import { NODE, OPERATOR, startAgent, startClients, TestAuthority, type TestClients } from "../../rpc/test-peers.ts";
import { Heartbeat, type HeartbeatOptions } from "./heartbeat.ts";
import { OperatorLink } from "./operator-link.ts";
import { Reporter } from "./reporter.ts";

const log = pino({ level: "silent" });
let authority: TestAuthority;
let identity: TlsIdentity;
let clients: TestClients;
beforeAll(async () => {
  authority = await TestAuthority.make();
  identity = await authority.identity(OPERATOR);
  clients = startClients(await authority.identity(NODE));
});
afterAll(() => clients.close());

interface Replica extends AsyncDisposable {
  readonly url: string;
  readonly heartbeats: HeartbeatRequest[];
  readonly reports: ReportRequest[];
}

async function replica(leader: () => { leading: boolean; leaderUrl?: string }): Promise<Replica> {
  const heartbeats: HeartbeatRequest[] = [];
  const reports: ReportRequest[] = [];
  const served = await startAgent(identity, {
    name: "operator",
    own: { trustDomain: OPERATOR.trustDomain, operatorNamespace: OPERATOR.namespace },
    routes: (router) => {
      router.service(OperatorService, {
        heartbeat: (request) => {
          heartbeats.push(request);
          return leader();
        },
        report: (request) => {
          reports.push(request);
          const { leading, leaderUrl = "" } = leader();
          return { notLeading: !leading, leaderUrl };
        },
      });
    },
  });
  const { port } = served.target;
  const dispose = () => served[Symbol.asyncDispose]();
  return { url: `https://127.0.0.1:${port}`, heartbeats, reports, [Symbol.asyncDispose]: dispose };
}

function beating(url: string, more: Partial<HeartbeatOptions> = {}) {
  const stop = new AbortController();
  const link = new OperatorLink(clients, url, OPERATOR);
  const state = create(NodeStateSchema, { server: { phase: ServerPhase.RUNNING } });
  const heartbeat = new Heartbeat({
    clock: systemClock,
    log,
    random: () => 0.5,
    link,
    bootId: "boot",
    state: () => Promise.resolve(state),
    before: () => Promise.resolve(),
    everyMs: 200,
    ...more,
  });
  const running = heartbeat.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  return { heartbeat, link, state, [Symbol.asyncDispose]: end };
}

test("the state goes along when it is new to the leader, and not otherwise", async () => {
  await using operator = await replica(() => ({ leading: true }));
  await using beat = beating(operator.url);
  await until("three heartbeats", () => operator.heartbeats.length >= 3);
  expect(operator.heartbeats.slice(0, 3).map(({ state }) => state !== undefined)).toEqual([true, false, false]);
  expect(operator.heartbeats.slice(0, 3).map(({ sequence }) => sequence)).toEqual([1n, 2n, 3n]);
  const before = operator.heartbeats.length;
  if (beat.state.server !== undefined) beat.state.server.ready = true;
  beat.heartbeat.poke();
  await until("the news", () => operator.heartbeats.slice(before).some(({ state }) => state?.server?.ready === true));
});

test("a poke without news sends nothing", async () => {
  await using operator = await replica(() => ({ leading: true }));
  await using beat = beating(operator.url, { everyMs: 60_000 });
  await until("the first heartbeat", () => operator.heartbeats.length === 1);
  let told = 0;
  if (beat.state.server !== undefined) beat.state.server.uptimeSeconds = 7n;
  beat.heartbeat.poke();
  await until("a turn", () => (told += 1) > 20);
  expect(operator.heartbeats.length).toBe(1);
});

test("whoever answers names the leader, which hears the state at once and all that follows", async () => {
  await using leader = await replica(() => ({ leading: true }));
  await using other = await replica(() => ({ leading: false, leaderUrl: leader.url }));
  await using beat = beating(other.url);
  await until("heartbeats to the leader", () => leader.heartbeats.length >= 2);
  expect(other.heartbeats.length).toBe(1);
  expect(leader.heartbeats[0]?.state).toBeDefined();
  expect(beat.link.url).toBe(leader.url);
});

test("a leader that is gone is looked for where the Service is, and hears the whole state again", async () => {
  await using second = await replica(() => ({ leading: true }));
  let leading = true;
  const first = await replica(() => ({ leading: true }));
  await using entry = await replica(() => ({ leading: false, leaderUrl: leading ? first.url : second.url }));
  await using _ = beating(entry.url);
  await until("heartbeats to the first", () => first.heartbeats.length >= 2);
  leading = false;
  await first[Symbol.asyncDispose]();
  await until("heartbeats to the second", () => second.heartbeats.length >= 1);
  expect(second.heartbeats[0]?.state).toBeDefined();
});

test("an operator that is away is tried less and less often", async () => {
  const clock = new FakeClock();
  const tries: number[] = [];
  const beat = beating("https://127.0.0.1:1", {
    clock,
    everyMs: 5000,
    before: () => {
      tries.push(clock.monotonic());
      return Promise.resolve();
    },
  });
  for (let second = 0; second < 200; second += 1) {
    await clock.advance(1000);
    await Bun.sleep(1);
  }
  await Promise.race([beat[Symbol.asyncDispose](), clock.advance(60_000)]);
  const gaps = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
  expect(gaps[0]).toBeLessThan(7000);
  expect(Math.max(...gaps)).toBeGreaterThan(25_000);
  expect(Math.max(...gaps)).toBeLessThan(37_000);
});

test("a leader's address that is no https URL is not believed", () => {
  const link = new OperatorLink(clients, "https://op:8443", OPERATOR);
  for (const url of ["", "http://10.0.0.1", "nonsense", "file:///etc/passwd"]) expect(link.leaderIs(url)).toBe(false);
  expect(link.leaderIs("https://10.0.0.1:8443/x")).toBe(true);
  expect(link.url).toBe("https://10.0.0.1:8443");
  link.lost();
  expect(link.url).toBe("https://op:8443");
});

test("news that reach another replica are repeated to the leader", async () => {
  await using leader = await replica(() => ({ leading: true }));
  let elected = false;
  await using other = await replica(() => ({ leading: false, leaderUrl: elected ? leader.url : "" }));
  const stop = new AbortController();
  const link = new OperatorLink(clients, other.url, OPERATOR);
  const state = () => Promise.resolve(create(NodeStateSchema, { bootId: "boot" }));
  const reporter = new Reporter({ clock: systemClock, log, link, bootId: "boot", state });
  const running = reporter.run(stop.signal);
  reporter.tell("FilesSetAside", "they went aside");
  await until("somebody who knows of no leader has heard it", () => other.reports.length >= 2);
  elected = true;
  await until("the leader has heard it", () => leader.reports.length === 1);
  stop.abort();
  await running;
  expect(leader.reports[0]?.reason).toBe("FilesSetAside");
});

test("news are told at once and in order; what cannot be told is dropped, not piled up", async () => {
  await using operator = await replica(() => ({ leading: true }));
  const stop = new AbortController();
  const state = () => Promise.resolve(create(NodeStateSchema, { bootId: "boot" }));
  const link = new OperatorLink(clients, operator.url, OPERATOR);
  const reporter = new Reporter({ clock: systemClock, log, link, bootId: "boot", state });
  const running = reporter.run(stop.signal);
  reporter.tell("ServerDied", "it died");
  reporter.tell("GateOpened", "it is back");
  await until("both", () => operator.reports.length === 2);
  expect(operator.reports.map(({ reason }) => reason)).toEqual(["ServerDied", "GateOpened"]);
  stop.abort();
  await running;
  const lost = new Reporter({ clock: systemClock, log, link, bootId: "boot", state });
  for (let news = 0; news < 40; news += 1) lost.tell("ServerDied", String(news));
  expect(lost.dropped).toBe(24);
});
