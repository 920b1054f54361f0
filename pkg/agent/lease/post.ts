/** Carries questions to the other agents of the deployment, each within its time. */
import type { Question, Reply } from "../../plan/lease/message.ts";
import type { Configuration } from "../../rpc/gen/valkey/agent/v1/configuration_pb.ts";
import type { PeerAsker } from "../../rpc/peer-asker.ts";
import type { AskPeers } from "../gate/peers.ts";
import type { Addresses } from "./addresses.ts";
import { answers } from "./probe.ts";
import type { Sender } from "./wire.ts";
import { AnswerReader, type Heard, QuestionWriter } from "./wire-stream.ts";

export interface PostOptions {
  readonly ask: AskPeers;
  readonly addresses: Addresses;
  readonly configuration: () => Configuration | undefined;
  readonly sender: () => Sender;
  /** Who spoke, in every answer. */
  readonly heard: (envelope: NonNullable<Heard<Reply>["envelope"]>) => void;
}

/**
 * An answer that comes after a second or two helps nobody. But a call that is given up takes its connection with it, and
 * on a machine that is busy for a moment the handshakes of new ones would make it busier still.
 */
const ANSWER_MS = 10_000;

/** To one agent at once. One that is slow to answer does not answer sooner when it is asked more often. */
const MOST_UNDER_WAY = 4;

/** To one agent at one address. */
interface Way {
  readonly host: string;
  readonly asker: PeerAsker;
  readonly reader: AnswerReader;
  /** Questions without an answer yet. */
  underWay: number;
}

export class Post {
  readonly #options: PostOptions;
  readonly #ways = new Map<string, Way>();
  readonly #writer = new QuestionWriter();

  constructor(options: PostOptions) {
    this.#options = options;
  }

  /** Undefined when there is no answer. */
  async ask(question: Question, signal: AbortSignal): Promise<Reply | undefined> {
    const host = this.#hostOf(question.to);
    if (host === undefined) return undefined;
    const way = this.#wayTo(question.to, host);
    if (way.underWay >= MOST_UNDER_WAY) return undefined;
    const { addresses, sender, heard } = this.#options;
    way.underWay += 1;
    try {
      const answer = await way.asker.ask(this.#writer.write(question, sender()), ANSWER_MS);
      const { envelope, message } = way.reader.read(answer);
      if (envelope !== undefined) heard(envelope);
      return message;
    } catch {
      // Nobody is there, or somebody else is: it may be at another of its addresses by now.
      if (!signal.aborted) addresses.failed(question.to, host);
      return undefined;
    } finally {
      way.underWay -= 1;
    }
  }

  /** The way to a node; what is under way to an address where it is not any more is given up. */
  #wayTo(node: string, host: string): Way {
    const { clients, own, rpcPort: port } = this.#options.ask;
    const known = this.#ways.get(node);
    if (known?.host === host) return known;
    known?.asker.close();
    const asker = clients.asker({ host, port }, { ...own, node });
    const way = { host, asker, reader: new AnswerReader(), underWay: 0 };
    this.#ways.set(node, way);
    return way;
  }

  async probe(node: string): Promise<boolean> {
    const host = this.#hostOf(node);
    const wire = this.#options.configuration()?.wire;
    if (host === undefined || wire === undefined) return false;
    return answers({ host, port: wire.port, tls: wire.tls });
  }

  #hostOf(node: string): string | undefined {
    const { addresses, configuration } = this.#options;
    const member = configuration()?.members.find(({ name }) => name === node);
    return member === undefined ? undefined : addresses.hostOf(node, member.host);
  }
}
