/** The write client as a program, so that it can run in a pod or in a network namespace. */
import { readFileSync } from "node:fs";
import { Command, InvalidArgumentError, Option } from "commander";
import { main } from "../../../scripts/lib.ts";
import type { Address, TlsFiles } from "../resp/connection.ts";
import { FRONT_ENDS, type FrontEndName } from "./front-end.ts";
import type { Report } from "./report.ts";
import { parseAddress } from "./topology.ts";
import { WriteClient } from "./write-client.ts";

interface Flags {
  readonly address: readonly Address[];
  readonly frontEnd: FrontEndName;
  readonly duration: number;
  readonly rate: number;
  readonly connections: number;
  readonly valueBytes: number;
  readonly user?: string;
  readonly passwordFile?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly log?: string;
  readonly json?: boolean;
}

const program = new Command("write-client")
  .description(
    "Writes unique keys to all shards of a Valkey deployment at a fixed rate, each retried until acknowledged, reads " +
      "them all back and reports gaps, latencies, errors and lost writes. Ends with 1 when a write was lost or could not be read back.",
  )
  .requiredOption("-a, --address <host:port...>", "any nodes of the deployment", addAddress)
  .addOption(new Option("-f, --front-end <name>", "who writes").choices([...FRONT_ENDS]).default("prober"))
  .option("-d, --duration <seconds>", "how long; 0 means until SIGTERM or SIGINT", amount, 10)
  .option("-r, --rate <writes>", "writes a second over all shards", positive, 300)
  .option("-c, --connections <count>", "connections to each shard", positive, 3)
  .option("--value-bytes <count>", "size of a value", amount, 64)
  .option("--user <name>", "the user to log in as")
  .option("--password-file <path>", "a file that holds the password")
  .option("--ca <path>", "speak TLS and trust this CA")
  .option("--cert <path>", "the client's certificate")
  .option("--key <path>", "the key of the client's certificate")
  .option("--servername <name>", "the name to verify instead of the dialled one")
  .option("--log <path>", "append every acknowledgement to this file")
  .option("--json", "print the report as one line of JSON");

async function write(flags: Flags): Promise<number> {
  const stopped = Promise.withResolvers<void>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stopped.resolve());
  const { address, passwordFile, user, json, duration, ...options } = flags;
  const password = passwordFile === undefined ? undefined : readFileSync(passwordFile, "utf8").trimEnd();
  const client = await WriteClient.start({
    ...options,
    addresses: address,
    tls: tlsOf(flags),
    username: user,
    password,
  });
  // Whoever started the program can wait for this line before doing what is to be measured.
  process.stderr.write("writing\n");
  if (duration > 0) setTimeout(() => stopped.resolve(), duration * 1000);
  await stopped.promise;
  const report = await client.stop();
  process.stdout.write(json === true ? `${JSON.stringify(report)}\n` : readable(report));
  return report.lost.length + report.unread === 0 ? 0 : 1;
}

function tlsOf({ ca, cert, key, servername }: Flags): TlsFiles | undefined {
  if (ca === undefined) return undefined;
  return {
    ca: readFileSync(ca, "utf8"),
    ...(cert === undefined ? {} : { cert: readFileSync(cert, "utf8") }),
    ...(key === undefined ? {} : { key: readFileSync(key, "utf8") }),
    ...(servername === undefined ? {} : { servername }),
  };
}

function readable(report: Report): string {
  const { p50, p99, max } = report.latencyMs;
  const counts = (of: Readonly<Record<string, number>>) =>
    Object.entries(of)
      .map(([kind, count]) => `${kind} ${count}`)
      .join(", ") || "none";
  return [
    `${report.acknowledged} of ${report.due} writes acknowledged in ${report.seconds} s, ${report.lost.length} lost`,
    ...report.lost.slice(0, 20).map((key) => `  lost ${key}`),
    ...(report.unread === 0 ? [] : [`${report.unread} could not be read back`]),
    ...report.shards.map(
      ({ name, slots, worstGapMs, worstGapAtMs }) =>
        `shard ${name} (${slots}): worst gap ${worstGapMs} ms, ${worstGapAtMs} ms after the start`,
    ),
    `latency p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`,
    `errors ${counts(report.errors)}; redirects ${counts(report.redirects)}; events ${counts(report.events)}`,
    "",
  ].join("\n");
}

function addAddress(text: string, before: readonly Address[] = []): readonly Address[] {
  const address = parseAddress(text);
  if (address === undefined) throw new InvalidArgumentError("not host:port.");
  return [...before, address];
}

function positive(text: string): number {
  const value = amount(text);
  if (value === 0) throw new InvalidArgumentError("not above zero.");
  return value;
}

function amount(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new InvalidArgumentError("not a number of zero or more.");
  return value;
}

await main(() => write(program.parse().opts<Flags>()));
