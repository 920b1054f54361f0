/** What status and topology have in common: read once or follow, as text or JSON, on a terminal or not. */
import { KubeClient } from "../pkg/kube/client.ts";
import { loadConnection } from "../pkg/kube/kube-config.ts";
import { KubeTransport } from "../pkg/kube/transport.ts";
import { VERSION } from "../pkg/version/version.ts";
import type { ConnectionOptions } from "./connection.ts";
import { EXIT } from "./exit-code.ts";
import { follow, type Sight } from "./live.ts";
import { type Picture, pictureOf } from "./picture.ts";
import { type ClusterName, explained, readCluster } from "./read-cluster.ts";
import { Screen } from "./screen.ts";
import { paint, type Style } from "./text.ts";

export interface ShowOptions extends ConnectionOptions {
  readonly namespace?: string;
  readonly output: "text" | "json";
  readonly watch?: boolean;
  readonly untilReady?: boolean;
  /** False with --no-color. */
  readonly color: boolean;
}

export interface View {
  readonly text: (picture: Picture, style: Style, now: Date) => string;
  /** What is appended where no terminal can be drawn on: each line when it is new. */
  readonly lines: (picture: Picture) => readonly string[];
  readonly json: (picture: Picture) => unknown;
}

const TICK_MS = 1000;
const PLAIN_WIDTH = 80;
const MIN_WIDTH = 60;

/** Gives the exit code. */
export async function show(view: View, name: string, options: ShowOptions): Promise<number> {
  const { kubeconfig, context } = options;
  const connection = loadConnection({ kubeconfig, context, userAgent: `kubectl-valkey/${VERSION.version}` });
  const client = new KubeClient(new KubeTransport(connection));
  const ref = { namespace: options.namespace ?? connection.namespace, name };
  try {
    const first = pictureOf(await readCluster(client, ref));
    if (options.watch === true || options.untilReady === true) return await live(client, ref, { view, options });
    const text =
      options.output === "json" ? JSON.stringify(view.json(first), undefined, 2) : onePicture(view, options, first);
    process.stdout.write(`${text}\n`);
    return codeOf(first);
  } finally {
    client.close();
  }
}

function onePicture(view: View, options: ShowOptions, picture: Picture): string {
  return view.text(picture, styleOf(options), new Date());
}

function codeOf({ healthy }: Picture): number {
  return healthy ? EXIT.healthy : EXIT.notReady;
}

function styleOf({ color }: ShowOptions): Style {
  const terminal = process.stdout.isTTY;
  const width = terminal ? Math.max(MIN_WIDTH, process.stdout.columns) : PLAIN_WIDTH;
  return { color: color && terminal && (process.env["NO_COLOR"] ?? "") === "", width };
}

interface Shown {
  readonly view: View;
  readonly options: ShowOptions;
}

async function live(client: KubeClient, ref: ClusterName, { view, options }: Shown): Promise<number> {
  const stop = new AbortController();
  const interrupt = () => stop.abort(new Error("interrupted"));
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const writer = writerOf(view, options);
  let code: number = EXIT.notReady;
  try {
    await follow(client, ref, { everyMs: writer.everyMs, signal: stop.signal }, (sight) => {
      if (sight.read === undefined) {
        writer.gone(`ValkeyCluster ${ref.namespace}/${ref.name} is gone`);
        return false;
      }
      const picture = pictureOf(sight.read);
      writer.see(picture, sight);
      code = codeOf(picture);
      return !(options.untilReady === true && picture.healthy);
    });
    return code;
  } catch (error) {
    throw await explained(client, ref, error);
  } finally {
    writer.end();
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
}

interface Writer {
  readonly everyMs: number | undefined;
  see(picture: Picture, sight: Sight): void;
  gone(message: string): void;
  end(): void;
}

function writerOf(view: View, options: ShowOptions): Writer {
  if (options.output === "json") return appending((picture) => [JSON.stringify(view.json(picture))], plain);
  if (!process.stdout.isTTY) return appending((picture) => view.lines(picture), stamped);
  return drawing(view, options);
}

function drawing(view: View, options: ShowOptions): Writer {
  const screen = new Screen({
    write: (text) => process.stdout.write(text),
    rows: () => process.stdout.rows,
    columns: () => process.stdout.columns,
  });
  return {
    everyMs: TICK_MS,
    see: (picture, { lost }) => {
      const style = styleOf(options);
      const note = lost === undefined ? "" : `\n\n${paint(style, "warn", lost)}`;
      screen.draw(view.text(picture, style, new Date()) + note);
    },
    gone: (message) => screen.draw(message),
    end: () => screen.end(),
  };
}

const plain = (line: string) => line;
const stamped = (line: string) => `${new Date().toISOString().slice(11, 19)} ${line}`;

/** Prints what was not there at the look before. */
function appending(linesOf: (picture: Picture) => readonly string[], format: (line: string) => string): Writer {
  let before: ReadonlySet<string> = new Set();
  return {
    everyMs: undefined,
    see: (picture) => {
      const lines = linesOf(picture);
      for (const line of lines) if (!before.has(line)) process.stdout.write(`${format(line)}\n`);
      before = new Set(lines);
    },
    gone: (message) => void process.stderr.write(`${message}\n`),
    end: () => undefined,
  };
}
