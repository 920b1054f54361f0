import { describe, expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ReplicationStateSchema } from "../../rpc/gen/valkey/agent/v1/state_pb.ts";
import type { ServerLook } from "../server-control.ts";
import { ReplicaWatch } from "./replica-watch.ts";

interface Seen {
  readonly own: number;
  readonly acked?: number;
  readonly lag?: number;
  readonly stream?: string;
}

function look({ own, acked, lag = 1, stream = "s" }: Seen): ServerLook {
  const at = { ip: "10.0.0.2", port: 6379 };
  const replicas = acked === undefined ? [] : [{ ...at, online: true, offset: BigInt(acked) }];
  return {
    loading: false,
    version: "9.1.2",
    runId: "r",
    keys: 0n,
    memoryBytes: 0n,
    maxMemoryBytes: 0n,
    uptimeSeconds: 0n,
    cluster: undefined,
    replication: create(ReplicationStateSchema, { offset: BigInt(own), replicas }),
    streams: [stream],
    lags: acked === undefined ? [] : [{ ...at, lagSeconds: lag }],
    writeRule: undefined,
  };
}

/** The last of several looks, half a second apart. */
function after(...all: readonly Seen[]) {
  const watch = new ReplicaWatch();
  return all.map((seen, turn) => watch.see(look(seen), turn * 500)).at(-1) ?? [];
}

describe("how far a replica is behind", () => {
  test("one that has everything is not", () => {
    expect(after({ own: 100, acked: 100 })).toMatchObject([{ behindMs: 0 }]);
  });

  test("by the latest look at which there was no more", () => {
    const [replica] = after({ own: 100, acked: 50 }, { own: 200, acked: 50 }, { own: 300, acked: 250 });
    expect(replica?.behindMs).toBe(500);
  });

  test("one that acknowledges in time what is old is behind all the same", () => {
    const looks = Array.from({ length: 8 }, (_, turn) => ({ own: 100 * (turn + 1), acked: 100 + turn, lag: 0 }));
    expect(after(...looks)[0]?.behindMs).toBe(3500);
  });

  test("as long as nothing is written it is not, however late its word", () => {
    const idle = Array.from({ length: 9 }, () => ({ own: 100, acked: 100, lag: 4 }));
    expect(after(...idle)[0]?.behindMs).toBe(0);
    expect(after(...idle, { own: 200, acked: 100 })[0]?.behindMs).toBe(500);
  });

  test("what was before a new stream of writes counts for nothing", () => {
    const [replica] = after({ own: 100, acked: 100 }, { own: 500, acked: 200, stream: "other" });
    expect(replica?.behindMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("one that has gone and come back begins anew", () => {
    const [replica] = after({ own: 100, acked: 100 }, { own: 200 }, { own: 300, acked: 200 });
    expect(replica?.behindMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("looks that follow each other at once are not all remembered, and nothing looks better for it", () => {
    const watch = new ReplicaWatch();
    for (let at = 0; at <= 1000; at += 10) watch.see(look({ own: 1000 + at, acked: 1000 }), at);
    const [replica] = watch.see(look({ own: 3000, acked: 1900 }), 1500);
    expect(replica?.behindMs).toBeWithin(600, 800);
  });
});

describe("when a replica has surely acknowledged", () => {
  test("by what the server tells in whole seconds", () => {
    expect(after({ own: 1, acked: 1, lag: 2 })[0]?.ackedAfter).toBe(-3000);
  });

  test("after the last look that did not show it yet", () => {
    const looks = [
      { own: 100, acked: 50 },
      { own: 200, acked: 150 },
    ];
    expect(after(...looks)[0]?.ackedAfter).toBe(0);
    expect(after(...looks, { own: 300, acked: 150 })[0]?.ackedAfter).toBe(0);
  });
});

test("a look counts once, and a replica that has not said anything for long is asked", () => {
  const watch = new ReplicaWatch();
  const first = look({ own: 100, acked: 100 });
  expect(watch.see(first, 0)).toBe(watch.see(first, 700));
  expect(ReplicaWatch.mustAsk(watch.see(look({ own: 200, acked: 100 }), 500))).toBe(false);
  expect(ReplicaWatch.mustAsk(watch.see(look({ own: 300, acked: 100 }), 1000))).toBe(true);
  expect(ReplicaWatch.mustAsk(watch.see(look({ own: 300 }), 2000))).toBe(false);
});
