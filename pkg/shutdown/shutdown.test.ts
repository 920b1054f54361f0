import { expect, test } from "bun:test";
import { createLogger } from "../log/log.ts";
import { EXIT, Shutdown, type Stopper } from "./shutdown.ts";

const log = createLogger({ program: "test", level: "fatal" });

test("what was registered is stopped in its order, one after the other", async () => {
  const order: string[] = [];
  const stopper = (name: string): Stopper => ({
    name,
    stop: async () => {
      order.push(`${name} begins`);
      await Bun.sleep(1);
      order.push(`${name} ends`);
    },
  });
  const shutdown = new Shutdown({ log, stoppers: [stopper("readiness"), stopper("server")] });
  const [first, again] = await Promise.all([shutdown.begin("test"), shutdown.begin("again")]);
  expect(order).toEqual(["readiness begins", "readiness ends", "server begins", "server ends"]);
  expect([first, again]).toEqual([EXIT.clean, EXIT.clean]);
  expect(shutdown.signal.aborted).toBe(true);
});

test("one that throws, one that hangs and one that ends only by its deadline do not keep the last from being stopped", async () => {
  let last = false;
  const stoppers: Stopper[] = [
    {
      name: "throws",
      stop: () => {
        throw new Error("boom");
      },
    },
    { name: "hangs", deadlineMs: 5, stop: async () => new Promise(() => {}) },
    {
      name: "gives up",
      deadlineMs: 5,
      stop: async (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
    },
    { name: "last", stop: () => void (last = true) },
  ];
  expect(await new Shutdown({ log, stoppers }).begin("test")).toBe(EXIT.unclean);
  expect(last).toBe(true);
});

const PROGRAM = `
import { createLogger } from ${JSON.stringify(`${import.meta.dir}/../log/log.ts`)};
import { Shutdown } from ${JSON.stringify(`${import.meta.dir}/shutdown.ts`)};
const hang = process.argv[1] === "hang";
const stop = async () => { if (hang) { console.log("hanging"); await new Promise(() => {}); } };
const stoppers = [{ name: "x", stop, deadlineMs: 60_000 }];
new Shutdown({ log: createLogger({ program: "t", level: "fatal" }), stoppers }).listen();
console.log("up");
setInterval(() => {}, 1000);
`;

async function lineOf(reader: { read(): Promise<{ value?: Uint8Array | undefined }> }): Promise<string> {
  const { value } = await reader.read();
  return new TextDecoder().decode(value).trim();
}

test("SIGTERM ends the program with 0, a second one while something hangs with 130", async () => {
  const start = (mode: string) =>
    Bun.spawn([process.execPath, "-e", PROGRAM, mode], { stdout: "pipe", stderr: "inherit" });
  const good = start("good");
  expect(await lineOf(good.stdout.getReader())).toBe("up");
  good.kill("SIGTERM");
  expect(await good.exited).toBe(0);

  const hanging = start("hang");
  const reader = hanging.stdout.getReader();
  expect(await lineOf(reader)).toBe("up");
  hanging.kill("SIGTERM");
  expect(await lineOf(reader)).toBe("hanging");
  hanging.kill("SIGTERM");
  expect(await hanging.exited).toBe(EXIT.impatient);
});
