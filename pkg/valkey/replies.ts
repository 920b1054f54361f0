/** Replies as what they ought to be; anything else is told as the server's fault, with the command's name. */
import { refusal } from "./connection.ts";
import { type Reply, ReplyError } from "./resp.ts";
import { ValkeyError } from "./valkey-error.ts";

export function textOf(action: string, reply: Reply | undefined): string {
  if (typeof reply === "string") return reply;
  throw unexpected(action, reply, "a text");
}

export function textsOf(action: string, reply: Reply | undefined): readonly string[] {
  if (Array.isArray(reply)) return reply.map((item: Reply) => textOf(action, item));
  throw unexpected(action, reply, "a list of texts");
}

/** A flat list of names and values, as CONFIG GET answers. A name that comes twice counts with its last value. */
export function pairsOf(action: string, reply: Reply | undefined): ReadonlyMap<string, string> {
  const texts = textsOf(action, reply);
  if (texts.length % 2 !== 0) throw unexpected(action, reply, "names and values");
  const pairs = new Map<string, string>();
  for (let at = 0; at < texts.length; at += 2) pairs.set(texts[at] ?? "", texts[at + 1] ?? "");
  return pairs;
}

function unexpected(action: string, reply: Reply | undefined, wanted: string): ValkeyError {
  if (reply instanceof ReplyError) return refusal(action, reply);
  return new ValkeyError({ code: "bad-response", action, message: `the answer is not ${wanted}` });
}
