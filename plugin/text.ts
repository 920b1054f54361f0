/** Text for a terminal: colours, columns, wrapped lines, ages and sizes. */

export interface Style {
  readonly color: boolean;
  readonly width: number;
}

export type Paint = "good" | "bad" | "warn" | "dim" | "bold";

const CODES: Readonly<Record<Paint, readonly [number, number]>> = {
  good: [32, 39],
  bad: [31, 39],
  warn: [33, 39],
  dim: [2, 22],
  bold: [1, 22],
};

export function paint(style: Style, how: Paint | undefined, text: string): string {
  if (!style.color || how === undefined || text === "") return text;
  const [on, off] = CODES[how];
  return `\u001B[${on}m${text}\u001B[${off}m`;
}

/** Broken at spaces; a word that is too long stands on a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/u)) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return line === "" ? lines : [...lines, line];
}

export function indented(text: string, by: number, width: number): string[] {
  return wrapped(text, width - by).map((line) => " ".repeat(by) + line);
}

export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}

export interface Cell {
  readonly text: string;
  readonly paint?: Paint | undefined;
}

/** Columns as wide as their widest cell; what does not fit is taken from the columns named by `shrink`, in turn. */
export function columns(
  rows: readonly (readonly Cell[])[],
  style: Style,
  options: { readonly indent: number; readonly shrink: readonly number[] },
): string[] {
  const widths = widthsOf(rows, style.width - options.indent, options.shrink);
  return rows.map((row) => {
    const cells = row.map(({ text, paint: how }, column) => {
      const width = widths[column] ?? text.length;
      return { shown: cut(text, width), width, how };
    });
    const line = cells.map(({ shown, width, how }) => paint(style, how, shown) + " ".repeat(width - shown.length));
    return (" ".repeat(options.indent) + line.join("  ")).trimEnd();
  });
}

const LEAST = 6;

function widthsOf(rows: readonly (readonly Cell[])[], room: number, shrink: readonly number[]): number[] {
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(0, ...rows.map((row) => row[column]?.text.length ?? 0)),
  );
  const total = () => widths.reduce((sum, width) => sum + width, 0) + 2 * Math.max(0, count - 1);
  for (const column of shrink) {
    const over = total() - room;
    const width = widths[column] ?? 0;
    if (over > 0) widths[column] = Math.max(Math.min(width, LEAST), width - over);
  }
  return widths;
}

/** `12s`, `3m`, `2h`, `5d` */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** `0 B`, `12.0 kB` */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = count < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1000 ** power;
  return `${power === 0 ? String(count) : value.toFixed(1)} ${units[power] ?? ""}`;
}
