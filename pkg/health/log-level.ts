/**
 * The log level at run time. pino gives every child logger a level of its own when it is made, so a change has to reach
 * all children; they are remembered weakly, since some live only as long as a request.
 */
import { LOG_LEVELS, type Logger, type LogLevel } from "../log/log.ts";

export interface LevelControl {
  readonly current: LogLevel;
  set(level: LogLevel): void;
}

/** Below this number of children nothing is swept. */
const SWEEP_AT = 256;

/** Takes the logger over: call it once, before the first child is made. */
export function levelControl(logger: Logger): LevelControl {
  let children: WeakRef<Logger>[] = [];
  let sweepAt = SWEEP_AT;
  logger.onChild = (child: Logger) => {
    children.push(new WeakRef(child));
    if (children.length < sweepAt) return;
    children = children.filter((known) => known.deref() !== undefined);
    sweepAt = Math.max(SWEEP_AT, children.length * 2);
  };
  return {
    get current() {
      return parseLogLevel(logger.level) ?? "info";
    },
    set(level) {
      logger.level = level;
      for (const child of children.flatMap((known) => known.deref() ?? [])) child.level = level;
    },
  };
}

export function parseLogLevel(text: string): LogLevel | undefined {
  return LOG_LEVELS.find((level) => level === text);
}

/** SIGUSR2 switches to debug and, sent again, back. Returns how to stop listening. */
export function toggleOnSignal(control: LevelControl, log: Logger): () => void {
  let usual: LogLevel | undefined;
  const toggle = () => {
    const level: LogLevel = usual ?? "debug";
    usual = usual === undefined ? control.current : undefined;
    control.set(level);
    log.warn({ logLevel: level }, "log level changed by SIGUSR2");
  };
  process.on("SIGUSR2", toggle);
  return () => void process.off("SIGUSR2", toggle);
}
