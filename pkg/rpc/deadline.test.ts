import { expect, test } from "bun:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { deadlineWithin, untilAborted } from "./deadline.ts";

const never = () => new Promise<never>(() => {});
const caught = async (work: Promise<unknown>): Promise<ConnectError> =>
  ConnectError.from(await work.catch((e: unknown) => e));

test("work that ends in time gives its result", async () => {
  expect(await untilAborted(new AbortController().signal, async () => 5)).toBe(5);
});

test("work that does not ends with the signal's reason, in the words of RPC", async () => {
  const abort = new AbortController();
  const waiting = caught(untilAborted(abort.signal, never));
  abort.abort(new ConnectError("the server stops", Code.Unavailable));
  expect(await waiting).toMatchObject({ code: Code.Unavailable, rawMessage: "the server stops" });
  expect(await caught(untilAborted(AbortSignal.timeout(1), never))).toMatchObject({ code: Code.DeadlineExceeded });
  const gone = AbortSignal.abort(new Error("hung up"));
  expect(await caught(untilAborted(gone, never))).toMatchObject({ code: Code.Canceled });
});

test("work that fails after its time is up disturbs nobody", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = new AbortController();
  const waiting = caught(untilAborted(abort.signal, () => promise));
  abort.abort();
  await waiting;
  reject(new Error("too late"));
  await Bun.sleep(0);
});

test("a deadline follows the signal given and comes at its time at the latest", async () => {
  const abort = new AbortController();
  using first = deadlineWithin(abort.signal, 60_000, "late");
  abort.abort(new Error("sooner"));
  expect(first.signal.reason).toMatchObject({ message: "sooner" });
  using second = deadlineWithin(new AbortController().signal, 1, "late");
  expect(await caught(untilAborted(second.signal, never))).toMatchObject({ rawMessage: "late" });
});
