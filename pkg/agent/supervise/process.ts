/**
 * The server's process, found in the pod's process namespace without ever going by its name: a server that has not
 * passed the gate is the one that was started with our configuration, and one that has is remembered by number and time
 * of start.
 */
import { readdirSync, readFileSync } from "node:fs";
import { isMissing } from "../files.ts";

/** The number alone may be given to another process later; with the time of its start it is one process for ever. */
export interface ProcessId {
  readonly pid: number;
  /** In clock ticks since the machine started. */
  readonly startedAt: string;
}

/** The process that waits to read this configuration or has read it; the oldest, if a helper of it shows the same. */
export function findByArgument(argument: string, proc = "/proc"): ProcessId | undefined {
  const found = readdirSync(proc)
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => argumentsOf(`${proc}/${name}/cmdline`).includes(argument))
    .map((name) => identify(Number(name), proc))
    .filter((process) => process !== undefined);
  return found.toSorted((a, b) => Number(BigInt(a.startedAt) - BigInt(b.startedAt)) || a.pid - b.pid)[0];
}

/** Undefined when there is no such process or it has ended and only waits to be reaped. */
export function identify(pid: number, proc = "/proc"): ProcessId | undefined {
  const { state, startedAt } = statOf(pid, proc);
  if (startedAt === "" || state === "Z" || state === "X") return undefined;
  return { pid, startedAt };
}

function statOf(pid: number, proc: string): { readonly state: string; readonly startedAt: string } {
  return fieldsOf(read(`${proc}/${pid}/stat`));
}

function fieldsOf(text: string): { readonly state: string; readonly startedAt: string } {
  // The name stands in parentheses and may hold anything, parentheses and spaces too.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", startedAt: fields[19] ?? "" };
}

/** Whether it is stopped by a signal: it will do nothing until another lets it go on. */
export function isSuspended({ pid, startedAt }: ProcessId, proc = "/proc"): boolean {
  const text = read(`${proc}/${pid}/stat`);
  // Asked for several times a second, and nearly always it is not.
  return text.includes(") T ") && fieldsOf(text).startedAt === startedAt && fieldsOf(text).state === "T";
}

export function isAlive(process: ProcessId, proc = "/proc"): boolean {
  return identify(process.pid, proc)?.startedAt === process.startedAt;
}

export function sameProcess(a: ProcessId | undefined, b: ProcessId | undefined): boolean {
  return a?.pid === b?.pid && a?.startedAt === b?.startedAt;
}

function argumentsOf(path: string): readonly string[] {
  return read(path).split("\0");
}

/** Empty for a process that has just ended; one of another user is none of ours. */
function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isMissing(error) || (error instanceof Error && "code" in error && UNREADABLE.has(String(error.code))))
      return "";
    throw error;
  }
}

const UNREADABLE: ReadonlySet<string> = new Set(["ESRCH", "EACCES", "EPERM"]);
