/**
 * The probe program: each subcommand does one thing that our binaries rely on and prints what it saw, one JSON object a
 * line. Subcommands are loaded when they are asked for, as in the binaries that ship.
 */
export type Probe = (args: readonly string[]) => Promise<void> | void;

const [, , name = "", ...args] = process.argv;

const PROBES: Record<string, () => Promise<Probe>> = {
  "rpc-server": async () => (await import("./rpc-server.ts")).serveRpc,
  "rpc-client": async () => (await import("./rpc-client.ts")).callRpc,
  "rpc-session": async () => (await import("./rpc-session.ts")).keepSession,
  "rpc-stack": async () => (await import("./rpc-stack.ts")).useRpcStack,
  iovalkey: async () => (await import("./iovalkey.ts")).useIovalkey,
  https: async () => (await import("./https-client.ts")).fetchRepeatedly,
  pki: async () => (await import("./pki.ts")).writeChains,
  log: async () => (await import("./log.ts")).logAndExit,
  "unix-server": async () => (await import("./unix-socket.ts")).serveUnix,
  "unix-client": async () => (await import("./unix-socket.ts")).watchUnix,
  "resp-server": async () => (await import("./resp-server.ts")).serveResp,
  health: async () => (await import("./health.ts")).serveHealth,
  gate: async () => (await import("./gate.ts")).openGate,
  environment: async () => (await import("./process.ts")).printEnvironment,
  names: async () => (await import("./process.ts")).printNames,
  end: async () => (await import("./process.ts")).end,
};

const probe = PROBES[name];
if (probe === undefined) {
  process.stderr.write(`unknown probe ${name}; known are ${Object.keys(PROBES).join(", ")}\n`);
  process.exit(2);
}
await (await probe())(args);
