/** Answers what other agents ask about leases, in calls and on the streams that they keep open. */
import type { NodeIdentity } from "../../pki/pki.ts";
import type { AskRequest, AskResponse } from "../../rpc/gen/valkey/agent/v1/peer_pb.ts";
import type { LeaseDriver } from "./lease-driver.ts";
import { askResponse, readQuestion } from "./wire.ts";
import { AnswerWriter, QuestionReader } from "./wire-stream.ts";

export class Answering {
  readonly #driver: Pick<LeaseDriver, "answer" | "sender">;
  /** By the caller of a stream, for as long as that lives. */
  readonly #streams = new WeakMap<NodeIdentity, { readonly reader: QuestionReader; readonly writer: AnswerWriter }>();

  constructor(driver: Pick<LeaseDriver, "answer" | "sender">) {
    this.#driver = driver;
  }

  async call(request: AskRequest, caller: string, signal: AbortSignal): Promise<AskResponse> {
    const asked = { envelope: request.envelope, message: readQuestion(request) };
    const reply = await this.#driver.answer(asked, caller, signal);
    return askResponse(reply, this.#driver.sender());
  }

  async onStream(question: Uint8Array, caller: NodeIdentity, signal: AbortSignal): Promise<Uint8Array> {
    const { reader, writer } = this.#streamOf(caller);
    const reply = await this.#driver.answer(reader.read(question), caller.node, signal);
    return writer.write(reply, this.#driver.sender());
  }

  #streamOf(caller: NodeIdentity) {
    const known = this.#streams.get(caller);
    if (known !== undefined) return known;
    const made = { reader: new QuestionReader(), writer: new AnswerWriter() };
    this.#streams.set(caller, made);
    return made;
  }
}
