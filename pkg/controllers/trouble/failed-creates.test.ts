import { expect, test } from "bun:test";
import { FAILED_CREATES, lastFailedCreate } from "./failed-creates.ts";

const event = (note: string, uid: string, at: string) =>
  FAILED_CREATES.parse({
    metadata: { name: `set.${note}`, namespace: "q" },
    note,
    regarding: { apiVersion: "apps/v1", kind: "StatefulSet", name: "set", namespace: "q", uid },
    deprecatedLastTimestamp: at,
    eventTime: null,
  });

test("the newest word about this very StatefulSet counts", () => {
  const events = [
    event("newer", "now", "2026-11-16T12:02:00Z"),
    event("older", "now", "2026-11-16T12:01:00Z"),
    event("of its predecessor", "before", "2026-11-16T12:03:00Z"),
  ];
  expect(lastFailedCreate(events, { name: "set", uid: "now" })).toBe("newer");
  expect(lastFailedCreate(events, { name: "other", uid: "now" })).toBeUndefined();
});
