/**
 * A share of the fleet: fleet-memory-program NAMESPACE SHARE OPERATOR-URL OPERATOR-NAMESPACE. Plays the pods of one
 * namespace until its standard input ends.
 */
import { createLogger } from "../../pkg/log/log.ts";
import { Registry } from "../../pkg/metrics/metrics.ts";
import { rpcMetrics } from "../../pkg/rpc/rpc-metrics.ts";
import { clientOf } from "../lib/kube.ts";
import { PlayedKubelet } from "./fleet-memory-kubelet.ts";
import { addressOf } from "./fleet-memory-machines.ts";

const [namespace = "", share = "", operatorUrl = "", operatorNamespace = ""] = process.argv.slice(2);
const log = createLogger({ program: `played-${share}`, pretty: false, level: "error" });
const kubelet = new PlayedKubelet({
  client: clientOf(),
  namespace,
  addressOf: (n) => addressOf(Number(share), n),
  operatorUrl,
  operatorNamespace,
  metrics: rpcMetrics(new Registry()),
  log,
});
void kubelet.run(new AbortController().signal).catch((error: unknown) => {
  log.error({ err: error }, "pods are not played any more");
  process.exit(1);
});
await Bun.stdin.text();
process.exit(0);
