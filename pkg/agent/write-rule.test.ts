import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { ConfigurationSchema } from "../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import { FENCE, isFence, wantedRule, withoutRule } from "./write-rule.ts";

const configuration = (...settings: [string, string][]) =>
  create(ConfigurationSchema, { settings: settings.map(([name, value]) => ({ name, value })) });

test("what people want, under either name, and the server's own where they want nothing", () => {
  expect(wantedRule(configuration())).toEqual({ minReplicas: 0, maxLag: 10 });
  const wanted = configuration(
    ["min-replicas-to-write", "2"],
    ["min-slaves-max-lag", "5"],
    ["min-slaves-to-write", "1"],
  );
  expect(wantedRule(wanted)).toEqual({ minReplicas: 1, maxLag: 5 });
  expect(withoutRule(wanted).settings).toEqual([]);
});

test("a fence without a lag is none: the server would not count its replicas", () => {
  expect(isFence(FENCE)).toBe(true);
  expect(isFence({ ...FENCE, maxLag: 0 })).toBe(false);
  expect(isFence({ minReplicas: 2, maxLag: 10 })).toBe(false);
});
