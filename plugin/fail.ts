/** How the plugin ends when it cannot do what was asked: one plain message, no stack, exit code 1. */

export function fail(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`error: ${message}\n`);
  process.exit(1);
}
