/**
 * A line of valkey.conf that says exactly what was meant. The server cuts its file at line breaks first and then splits
 * each line as a shell would, so a value is always put in double quotes, with everything that has a meaning in them
 * written as an escape. A setting that takes several words takes them in one pair of quotes as well.
 */

const SETTING_NAME = /^[a-z][a-z0-9-]*$/;
const SHORT: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  '"': '\\"',
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\b": "\\b",
  "\u0007": "\\a",
};
/** Control characters, quotes and backslashes; everything else, also beyond ASCII, stands for itself. */
const SPECIAL = /[\p{Cc}"\\]/gu;

export function confLine(name: string, value: string): string {
  if (!SETTING_NAME.test(name)) {
    throw new Error(`${JSON.stringify(name.slice(0, 80))} cannot be the name of a setting: a-z, 0-9 and "-" only`);
  }
  return `${name} ${quoted(value)}`;
}

export function quoted(value: string): string {
  return `"${value.replaceAll(SPECIAL, escape)}"`;
}

/** Byte by byte, as the server reads them: what is beyond ASCII has several. */
function escape(char: string): string {
  return SHORT[char] ?? [...Buffer.from(char)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
}
