/** Structured logs: one JSON object a line, or readable lines when a person is looking at a terminal. */
import { type DestinationStream, type Logger, pino } from "pino";
import * as v from "valibot";

export type { Logger } from "pino";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  readonly program: string;
  /** Defaults to "info". */
  readonly level?: LogLevel;
  /** Defaults to whether standard output is a terminal. */
  readonly pretty?: boolean;
}

/** Keys that may carry a secret are never written, wherever they stand in a logged object. */
const SECRET_KEYS = ["password", "pass", "token", "authorization", "key", "privateKey", "secret", "stringData"];
const REDACT = SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]);

/**
 * pino's worker-thread transports hang in a compiled binary, so lines are written synchronously and the readable form
 * is made here.
 */
export function createLogger(options: LogOptions): Logger {
  const pretty = options.pretty ?? process.stdout.isTTY;
  const out = pino.destination({ fd: 1, sync: true });
  const stream: DestinationStream = pretty ? { write: (line) => void out.write(prettyLine(line)) } : out;
  return pino(
    {
      level: options.level ?? "info",
      base: { program: options.program },
      messageKey: "message",
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACT, censor: "[redacted]" },
      serializers: { err: errorFields },
    },
    stream,
  );
}

/** What people need of an error: an error of a call carries its connection, which cannot be written and says nothing. */
export function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack } = error;
  const code =
    "code" in error && (typeof error.code === "string" || typeof error.code === "number") ? error.code : undefined;
  const cause = error.cause instanceof Error ? error.cause.message : undefined;
  return { type: name, message, code, cause, stack };
}

/** `12:34:56.789 info  message key=value …` */
export function prettyLine(line: string): string {
  const { time, level, message, program: _, ...fields } = v.parse(v.record(v.string(), v.unknown()), JSON.parse(line));
  const clock = typeof time === "string" ? time.slice(11, 23) : "";
  const rest = Object.entries(fields)
    .map(([key, value]) => ` ${key}=${text(value)}`)
    .join("");
  return `${clock} ${text(level).padEnd(5)} ${text(message ?? "")}${rest}\n`;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
