import { expect, test } from "bun:test";
import { pino } from "pino";
import { FakeClock } from "../clock/fake-clock.ts";
import { Registry } from "../metrics/metrics.ts";
import { Refusals, tlsRefusal } from "./refusals.ts";
import { rpcMetrics } from "./rpc-metrics.ts";
import { counted } from "./test-peers.ts";

test("all are counted; of a flood a few lines are written, then one now and then that tells how many were not", async () => {
  const registry = new Registry();
  const clock = new FakeClock();
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push(line) });
  const refusals = new Refusals({ server: "agent", metrics: rpcMetrics(registry), log, clock });
  for (let attempt = 0; attempt < 1000; attempt += 1) refusals.add("no-certificate", { remote: "10.0.0.9:1" });
  expect(lines).toHaveLength(5);
  expect(counted(registry, 'rpc_refusals_total{server="agent",reason="no-certificate"}')).toBe(1000);
  // Another reason has an allowance of its own.
  refusals.add("lower-fencing-token", { remote: "10.0.0.9:1" });
  expect(lines).toHaveLength(6);
  await clock.advance(10_000);
  refusals.add("no-certificate", {});
  refusals.add("no-certificate", {});
  expect(lines).toHaveLength(7);
  expect(lines.at(-1)).toContain('"unsaid":995');
});

test("a failed handshake is told by its reason", () => {
  const reason = (code: string) => tlsRefusal(Object.assign(new Error("x"), { code })).reason;
  expect(reason("CERT_HAS_EXPIRED")).toBe("expired-certificate");
  expect(reason("UNABLE_TO_GET_ISSUER_CERT_LOCALLY")).toBe("untrusted-certificate");
  expect(reason("DEPTH_ZERO_SELF_SIGNED_CERT")).toBe("untrusted-certificate");
  expect(reason("INVALID_PURPOSE")).toBe("wrong-purpose");
  expect(reason("ERR_TLS_HANDSHAKE_TIMEOUT")).toBe("handshake-timeout");
  expect(reason("ECONNRESET")).toBe("handshake-failed");
  expect(tlsRefusal(new Error("permitted subtree violation"))).toEqual({
    reason: "forbidden-name",
    code: "permitted subtree violation",
  });
});
