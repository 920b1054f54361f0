import { expect, test } from "bun:test";
import { readOptions } from "./agent-options.ts";

const FLAGS = { runDir: "/r", dataDir: "/d", mountDir: "/m", rpcPort: 8444, probePort: 8445 };
const ENV = {
  NODE_NAME: "c-0-0",
  POD_NAME: "c-0-0-0",
  POD_NAMESPACE: "n",
  POD_IP: "10.0.0.1",
  PARENT_KIND: "valkeycluster",
  PARENT_NAME: "c",
  TRUST_DOMAIN: "valkey.local",
  OPERATOR_URL: "https://valkey-operator.o.svc:8443",
  OPERATOR_NAMESPACE: "o",
  MEMORY_LIMIT: "1073741824",
};

test("the environment tells who the node is, the flags where its files are", () => {
  const options = readOptions(ENV, FLAGS);
  expect(options).toMatchObject({ node: "c-0-0", memoryLimit: 1_073_741_824n, podIp: "10.0.0.1" });
  expect(options.paths).toMatchObject({ gate: "/r/gate", data: "/d", mountedIdentity: "/m/identity" });
  expect(readOptions({ ...ENV, POD_IP: "fd00::1", MEMORY_LIMIT: undefined }, FLAGS).memoryLimit).toBe(0n);
});

test("everything that is wrong is told at once", () => {
  const wrong = {
    ...ENV,
    NODE_NAME: "",
    POD_IP: "x",
    OPERATOR_URL: "http://o",
    MEMORY_LIMIT: "1Gi",
    PARENT_NAME: undefined,
  };
  const error = (() => {
    try {
      return readOptions(wrong, FLAGS);
    } catch (thrown) {
      return String(thrown);
    }
  })();
  for (const name of ["NODE_NAME", "POD_IP", "OPERATOR_URL", "MEMORY_LIMIT", "PARENT_NAME"])
    expect(error).toContain(name);
});
