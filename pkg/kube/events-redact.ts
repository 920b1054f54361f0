/**
 * Takes secrets out of text that people will read. The last line of defence: callers do not put them in, but server
 * messages and command replies that end up in a note may carry one.
 */
const GONE = "[redacted]";

/** In this order: the blocks first, then what stands in single words. */
const RULES: readonly (readonly [RegExp, string])[] = [
  // A private key, also one that was cut off before its end.
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/gu, GONE],
  // Bearer tokens and JSON web tokens.
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/giu, `$1 ${GONE}`],
  [/\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/gu, GONE],
  // valkey://user:password@host
  [/(\w+:\/\/[^\s/:@]*):[^\s@/]+@/gu, `$1:${GONE}@`],
  // requirepass x, masterauth "x y", AUTH user x, password=x, "token": "x"
  [
    /\b(requirepass|masterauth|primaryauth|tls-key-file-pass|tls-client-key-file-pass)(["']?[\s:=]+)(?:"[^"]*"|'[^']*'|\S+)/giu,
    `$1$2${GONE}`,
  ],
  [/\bAUTH2?\s+(?:\S+\s+)?(?:"[^"]*"|'[^']*'|\S+)/gu, `AUTH ${GONE}`],
  [
    /\b(\w*(?:passw(?:or)?d|passphrase|secret(?:[_-]?key)?|token|api[_-]?key|access[_-]?key|private[_-]?key))(["']?\s*[:=]\s*)(?:"[^"]*"|'[^']*'|[^\s,;}]+)/giu,
    `$1$2${GONE}`,
  ],
  // The rules of an ACL user: >password, <password, #hash, !hash.
  [/(^|\s)[><][^\s>]{3,}/gu, `$1${GONE}`],
  [/(^|\s)[#!][0-9a-f]{64}\b/giu, `$1${GONE}`],
];

export function redactSecrets(text: string): string {
  return RULES.reduce((rest, [pattern, instead]) => rest.replaceAll(pattern, instead), text);
}
