/**
 * Whether a change would put an older server beside data that a newer one wrote. A server reads what an older release
 * wrote, never the other way round: a replica of the older major cannot even follow a primary of the newer one.
 */
const NUMBERS = /^v?(\d+)\.(\d+)/;

/** The version that a tag begins with: `9.1`, `9.1.2-alpine`, `v8.1`. */
export function versionOfTag(tag: string): string | undefined {
  const [, major, minor] = NUMBERS.exec(tag) ?? [];
  return major === undefined || minor === undefined ? undefined : `${major}.${minor}`;
}

export function majorOf(version: string): number | undefined {
  const major = Number(version.split(".")[0]);
  return version === "" || Number.isNaN(major) ? undefined : major;
}

export function isOlderMajor(wanted: string, runs: string): boolean {
  const [to, from] = [majorOf(wanted), majorOf(runs)];
  return to !== undefined && from !== undefined && to < from;
}
