import { expect, test } from "bun:test";
import { FakeClock } from "../../clock/fake-clock.ts";
import { HeldProbe } from "./held-probe.ts";

function held() {
  const clock = new FakeClock();
  const state: { problem: string | undefined } = { problem: "it loads" };
  const probe = new HeldProbe(() => state.problem, clock);
  const { signal } = new AbortController();
  const ask = () => {
    const asked = { answer: "none yet" as string | undefined };
    const done = probe.ask(signal).then((answer) => {
      asked.answer = answer;
    });
    return { asked, done };
  };
  return { clock, state, probe, ask };
}

test("a node that becomes ready answers the question that waits", async () => {
  const { clock, state, probe, ask } = held();
  const { asked, done } = ask();
  await clock.advance(300);
  probe.notify();
  expect(asked.answer).toBe("none yet");
  state.problem = undefined;
  probe.notify();
  await done;
  expect(asked.answer).toBeUndefined();
});

test("one that does not is told of before kubelet asks again, and says at once when it is ready no more", async () => {
  const { clock, state, ask } = held();
  const first = ask();
  await clock.advance(900);
  await first.done;
  expect(first.asked.answer).toBe("it loads");
  state.problem = undefined;
  await ask().done;
  state.problem = "it is gone";
  const last = ask();
  await last.done;
  expect(last.asked.answer).toBe("it is gone");
});
