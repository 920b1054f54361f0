import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import type { FailoverOutcome } from "../../plan/failover/view.ts";
import {
  AgentService,
  type HandoverRequest,
  type HandoverResponse,
  HandoverResponseSchema,
  HandoverResult,
} from "../../rpc/gen/valkey/agent/v1/agent_pb.ts";
import { handoverCommand } from "./handover-command.ts";

const STEP = {
  do: "handover",
  node: "shop-0-0",
  lane: "shop-0-0",
  nodeId: "id",
  successor: "shop-0-1",
  request: undefined,
} as const;

async function send(answer: (request: HandoverRequest) => HandoverResponse) {
  const transport = createRouterTransport(({ service }) => service(AgentService, { handover: answer }));
  const told: Omit<FailoverOutcome, "request">[] = [];
  const { send: call } = handoverCommand(STEP, (_step, outcome) => told.push(outcome));
  const limits = { timeoutMs: 1000, signal: AbortSignal.timeout(1000) };
  const failure = await call(createClient(AgentService, transport), limits).then(
    () => undefined,
    (error: unknown) => String(error),
  );
  return { told, failure };
}

const answer = (result: HandoverResult, message = "") =>
  create(HandoverResponseSchema, { result, successor: "shop-0-1", writesWaitedMs: 41, message });

test("what came of it is told, and the request says who is meant", async () => {
  const { told, failure } = await send(({ nodeId, successor }) => {
    expect({ nodeId, successor }).toEqual({ nodeId: "id", successor: "shop-0-1" });
    return answer(HandoverResult.HANDED_OVER);
  });
  expect(told).toEqual([{ result: "handed-over", successor: "shop-0-1", writesWaitedMs: 41, message: "" }]);
  expect(failure).toBeUndefined();
});

test("who is not the primary any more has nothing to do; who does not hand over is left alone for a while", async () => {
  expect((await send(() => answer(HandoverResult.NOT_PRIMARY))).failure).toBeUndefined();
  const { told, failure } = await send(() => answer(HandoverResult.GAVE_UP, "the replica fell behind"));
  expect(told[0]?.result).toBe("refused");
  expect(failure).toContain("the replica fell behind");
  expect(handoverCommand(STEP, () => {}).pauseMs).toBeGreaterThan(5000);
});

test("an answer that does not come is told as such", async () => {
  const { told, failure } = await send(() => {
    throw new Error("no route");
  });
  expect(told[0]?.result).toBe("unanswered");
  expect(failure).toBeDefined();
});
