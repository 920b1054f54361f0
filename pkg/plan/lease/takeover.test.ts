import { describe, expect, test } from "bun:test";
import type { Context, ServerSight } from "./context.ts";
import type { Standing } from "./copy.ts";
import { RULES } from "./rules.ts";
import { promotionKind } from "./takeover.ts";
import { replicaSight } from "./test-agents.ts";

const SHARDS = 3;
const members = [0, 1, 2].flatMap((shard) => [0, 1].map((member) => ({ node: `c-${shard}-${member}`, shard, member })));

/** An orphan of shard 0, whose table says that the first member of each shard leads it. */
function context(change: Partial<Context> = {}, owners: ServerSight["owners"] = ["c-0-0", "c-1-0", "c-2-0"]): Context {
  return {
    self: { node: "c-0-1", shard: 0, member: 1, boot: "boot" },
    deployment: { shards: SHARDS, members, voters: members.slice(0, 5).map(({ node }) => node) },
    rules: RULES,
    now: 0,
    server: replicaSight(1, { linkUp: false, owners }),
    lost: new Set(),
    stopped: new Set(),
    leaving: false,
    ...change,
  };
}

type Being = "primary" | "replica" | "gated" | "silent";

function standing(node: string, being: Being): Standing {
  const [, shard = 0, member = 0] = node.split("-").map(Number);
  const place = { node, shard, member, leaving: false, holdsLease: false, primary: being === "primary" };
  const copy = { run: "run", hasData: true, dataEpoch: 1, offset: 1, tableEpoch: 1, linkUp: false };
  if (being === "gated" || being === "silent") return { ...place, ...copy, phase: being, role: undefined };
  return { ...place, ...copy, phase: "running", role: being };
}

function kind(all: Readonly<Record<string, Being>>, of = context(), holders: readonly string[] = []): string {
  const spoken = Object.entries(all).map(([node, being]) => standing(node, being));
  const voter = { standing: standing("c-0-1", "replica"), holders };
  return promotionKind(of, new Map(spoken.map((each) => [each.node, each])), [voter]);
}

describe("an election", () => {
  test("is held while a majority of the primaries may run", () => {
    expect(kind({ "c-0-0": "gated", "c-1-0": "primary", "c-2-0": "primary" })).toBe("FORCE");
    expect(kind({ "c-0-0": "gated" })).toBe("FORCE");
    expect(kind({ "c-0-0": "gated", "c-1-0": "gated", "c-2-0": "primary" })).toBe("TAKEOVER");
  });

  test("is held where voters know of a leader that the table does not know", () => {
    const stopped = { "c-0-0": "gated", "c-1-0": "gated", "c-2-0": "gated" } as const;
    expect(kind(stopped, context(), ["c-1-1"])).toBe("TAKEOVER");
    expect(kind(stopped, context(), ["c-1-1", "c-2-1"])).toBe("FORCE");
    expect(kind({ ...stopped, "c-2-1": "replica" }, context(), ["c-1-1", "c-2-1"])).toBe("TAKEOVER");
    expect(kind(stopped, context(), ["c-1-0", "c-2-0"])).toBe("TAKEOVER");
  });

  test("is not waited for where all of a shard have spoken and none leads, whatever the table says", () => {
    const half = { "c-0-0": "gated", "c-1-0": "replica", "c-2-0": "primary" } as const;
    expect(kind(half)).toBe("FORCE");
    expect(kind({ ...half, "c-1-1": "gated" })).toBe("TAKEOVER");
    expect(kind({ ...half, "c-1-1": "replica" })).toBe("TAKEOVER");
    expect(kind({ ...half, "c-1-1": "primary" })).toBe("FORCE");
    expect(kind({ ...half, "c-1-1": "silent" })).toBe("FORCE");
    expect(kind(half, context({ lost: new Set(["c-1-1"]) }))).toBe("TAKEOVER");
  });

  test("is not waited for where the operator says that owners are stopped, unless they answer", () => {
    const said = context({ stopped: new Set(["c-1-0"]) });
    expect(kind({ "c-0-0": "gated", "c-2-0": "primary" }, said)).toBe("TAKEOVER");
    expect(kind({ "c-0-0": "gated", "c-2-0": "primary", "c-1-0": "primary" }, said)).toBe("FORCE");
    expect(kind({ "c-0-0": "gated", "c-2-0": "primary", "c-1-0": "silent" }, said)).toBe("FORCE");
    expect(kind({ "c-0-0": "primary", "c-2-0": "primary" }, said)).toBe("FORCE");
  });
});
