/** gate FIFO TEXT: lets a server that waits at the FIFO go on, with the text as the last lines of its configuration. */
import { writeFile } from "node:fs/promises";
import { say } from "./say.ts";

export async function openGate([fifo = "", text = ""]: readonly string[]): Promise<void> {
  await writeFile(fifo, text);
  say({ opened: fifo });
}
