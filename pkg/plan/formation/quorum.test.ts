import { expect, test } from "bun:test";
import { quorumHold } from "./quorum.ts";
import { inputOf, memberView } from "./test-members.ts";
import type { MemberView, Ran } from "./view.ts";

const RAN: Ran = { pod: "c-1-0-0", machine: "node-3", state: "not-ready", reported: false, away: false };

/** Of three shards the first is led; of the others one member each is silent. */
function hold(ran: Ran | undefined, changes: Partial<MemberView> = {}, led: readonly number[] = [0]) {
  const silent = [1, 2].map((shard) => memberView(0, { name: `c-${shard}-0`, shard, ran, ...changes }));
  return quorumHold({ ...inputOf(...silent), shards: 3 }, new Set(led));
}

test("a majority of primaries that nobody hears of is told with the command that decides", () => {
  expect(hold(RAN)).toEqual({
    name: "quorum-lost",
    reason:
      "2 of 3 shards have no primary that runs, too many to elect one, and nobody can say whether these are stopped: c-1-0 (on node-3, which is not ready), c-2-0 (on node-3, which is not ready). All heals when they are back. If Node node-3 is off for good, and only then, say so: kubectl taint node node-3 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute.",
  });
});

test("a pod that hangs on a Node that is well is deleted, so that kubelet reports its end", () => {
  expect(hold({ ...RAN, state: "ready" })?.reason).toEndWith("Who hangs is ended by kubectl delete pod c-1-0-0.");
  expect(hold({ ...RAN, state: "ready", away: true })?.reason).toEndWith(
    "c-2-0 (its pod was removed from node-3). All heals when they are back.",
  );
  expect(hold(undefined)?.reason).toContain("c-1-0 (it is not known where it ran)");
});

test("nothing is held while most shards are led, or when all that are missing are proven stopped or are new", () => {
  expect(hold(RAN, {}, [0, 1])).toBeUndefined();
  expect(hold({ ...RAN, reported: true })).toBeUndefined();
  expect(hold({ ...RAN, state: "gone" })).toBeUndefined();
  expect(hold(RAN, { recordedId: undefined })).toBeUndefined();
});
