/** log COUNT: so many lines, one with secrets, and then the end of the process without waiting for anything. */
import { createLogger } from "../../../pkg/log/log.ts";

export function logAndExit([count = "1"]: readonly string[]): void {
  const log = createLogger({ program: "probe", level: "info", pretty: false });
  for (let line = 0; line < Number(count); line++) log.info({ line }, "counting");
  log.debug("below the level");
  log.warn({ user: { name: "app", password: "hunter2" }, token: "hunter2" }, "a secret");
  log.error({ err: new TypeError("broken") }, "an error");
  process.exit(3);
}
