/** What a process of this machine has used so far, read from /proc. */

export interface Usage {
  /** Resident, in MB. */
  readonly rss: number;
  /** The most it was. */
  readonly peak: number;
  /** Seconds of processor time since its start. */
  readonly cpu: number;
  /** When this was read, in seconds. */
  readonly at: number;
}

/** USER_HZ: what /proc counts in, on every architecture that we run on. */
const TICKS_PER_SECOND = 100;

export async function usageOf(pid: number): Promise<Usage> {
  const [status, stat] = await Promise.all([
    Bun.file(`/proc/${pid}/status`).text(),
    Bun.file(`/proc/${pid}/stat`).text(),
  ]);
  const megabytes = (field: string) => {
    const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, "mu").exec(status)?.[1];
    if (kilobytes === undefined) throw new Error(`/proc/${pid}/status has no ${field}`);
    return Math.round(Number(kilobytes) / 102.4) / 10;
  };
  // The name, in parentheses, may hold spaces: fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  return {
    rss: megabytes("VmRSS"),
    peak: megabytes("VmHWM"),
    cpu: ticks / TICKS_PER_SECOND,
    at: performance.now() / 1000,
  };
}

/** Thousandths of a core between two looks. */
export function millicores(from: Usage, to: Usage): number {
  return Math.round(((to.cpu - from.cpu) / (to.at - from.at)) * 10_000) / 10;
}
