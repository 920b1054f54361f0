import { expect, test } from "bun:test";
import { holderIdentity, leaderUrl } from "./leader-address.ts";

test("what a replica writes into the Lease leads others to it", () => {
  expect(leaderUrl(holderIdentity("op-abc", "r4nd", "10.1.2.3"), 8443)).toBe("https://10.1.2.3:8443");
  expect(leaderUrl(holderIdentity("op-abc", "r4nd", "fd00::7"), 8443)).toBe("https://[fd00::7]:8443");
});

test("a holder without an address leads nowhere", () => {
  expect(leaderUrl(holderIdentity("op-abc", "r4nd", undefined), 8443)).toBe("");
  expect(leaderUrl(undefined, 8443)).toBe("");
});
