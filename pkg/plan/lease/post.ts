/** Writing messages: each carries who sends it, in which boot, for which shard and epoch, in answer to what. */
import type { Context, Output } from "./context.ts";
import type {
  Ask,
  AskMemory,
  AskStanding,
  Granted,
  Message,
  Promised,
  Question,
  Refused,
  Release,
  Renew,
  TellMemory,
  TellStanding,
} from "./message.ts";

/** The sender's counter and what it knows of its shard's epoch. */
export interface Line {
  readonly seq: number;
  readonly epoch: number;
}

type Body<M extends Message> = Omit<M, "from" | "to" | "boot" | "run" | "shard" | "epoch" | "seq" | "askedBy">;
type QuestionBody = Body<Renew> | Body<Ask> | Body<Release> | Body<AskStanding> | Body<AskMemory>;
type ReplyBody = Body<Granted> | Body<Promised> | Body<Refused> | Body<TellStanding> | Body<TellMemory>;

export function question({ self, server }: Context, { seq, epoch }: Line, to: string, body: QuestionBody): Output {
  const { node: from, boot, shard } = self;
  return { do: "send", message: { ...body, from, to, boot, run: server.run, shard, epoch, seq } };
}

export function reply({ self, server }: Context, asked: Question, epoch: number, body: ReplyBody): Output {
  const { node: from, boot } = self;
  const { from: to, shard, seq, boot: askedBy } = asked;
  return { do: "send", message: { ...body, from, to, boot, run: server.run, shard, epoch, seq, askedBy } };
}
