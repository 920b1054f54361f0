/** Draws over what it drew before, so that a terminal shows one living picture. */

export interface Terminal {
  readonly write: (text: string) => void;
  readonly rows: () => number;
  readonly columns: () => number;
}

const HIDE = "\u001B[?25l";
const SHOW = "\u001B[?25h";

export class Screen {
  readonly #terminal: Terminal;
  #drawn = 0;
  #last: string | undefined;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    terminal.write(HIDE);
  }

  draw(text: string): void {
    const shown = this.#fitting(text);
    if (shown === this.#last) return;
    const up = this.#drawn === 0 ? "" : `\u001B[${this.#drawn}A`;
    this.#terminal.write(`${up}\r\u001B[J${shown}\n`);
    this.#drawn = this.#height(shown.split("\n"));
    this.#last = shown;
  }

  /** Leaves the last picture where it is. */
  end(): void {
    this.#terminal.write(SHOW);
  }

  /** What is taller than the terminal could not be drawn over. */
  #fitting(text: string): string {
    const lines = text.split("\n");
    const room = Math.max(2, this.#terminal.rows() - 1);
    if (this.#height(lines) <= room) return text;
    const first = lines.findIndex((_, index) => this.#height(lines.slice(0, index + 1)) >= room);
    return [...lines.slice(0, first), `… ${lines.length - first} more lines`].join("\n");
  }

  #height(lines: readonly string[]): number {
    return lines.reduce((sum, line) => sum + this.#rowsOf(line), 0);
  }

  /** The terminal breaks a line that is too long for it. */
  #rowsOf(line: string): number {
    return Math.max(1, Math.ceil(Bun.stringWidth(line) / Math.max(1, this.#terminal.columns())));
  }
}
