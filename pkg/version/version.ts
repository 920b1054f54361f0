/** What this program is: release, commit, and the protocol versions it speaks with its peers. */

declare const BUILD_VERSION: string;
declare const BUILD_COMMIT: string;

/**
 * The agent protocol. A release speaks its own version and the one before it, so that agents one release older than
 * the operator are served without a restart.
 */
export const PROTOCOL = { min: 1, max: 1 } as const;

export interface VersionInfo {
  readonly version: string;
  readonly commit: string;
  readonly bun: string;
  readonly protocol: { readonly min: number; readonly max: number };
}

/** The two names are put in by `npm run build`; a program run from source has neither. */
export const VERSION: VersionInfo = {
  version: typeof BUILD_VERSION === "string" ? BUILD_VERSION : "0.0.0-source",
  commit: typeof BUILD_COMMIT === "string" ? BUILD_COMMIT : "unknown",
  bun: Bun.version,
  protocol: PROTOCOL,
};

/** One line for `--version`. */
export function versionLine(program: string, info: VersionInfo = VERSION): string {
  const { min, max } = info.protocol;
  const protocol = min === max ? `v${max}` : `v${min}-v${max}`;
  return `${program} ${info.version} (commit ${info.commit}, bun ${info.bun}, protocol ${protocol})`;
}
