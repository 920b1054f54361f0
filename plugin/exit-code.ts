/** How the plugin ends, for scripts. */
export const EXIT = { healthy: 0, error: 1, notReady: 2 } as const;

export const EXIT_HELP = "Exit codes: 0 the cluster is ready, 2 it is not, 1 it could not be read.";
