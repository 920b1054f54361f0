/** Asking members, mostly those of the own shard, what they are and have; answers are of the present for a short while. */
import { type Context, type Output, shardPeers } from "./context.ts";
import type { Standing } from "./copy.ts";
import type { TellStanding } from "./message.ts";
import { type Line, question } from "./post.ts";

export interface Asked {
  readonly seq: number;
  readonly at: number;
}

export interface Heard {
  readonly standing: Standing;
  /** When it was asked: an answer is as old as its question. */
  readonly askedAt: number;
}

export interface SurveyState {
  readonly asked: readonly Asked[];
  readonly heard: ReadonlyMap<string, Heard>;
  /** When those of all shards were last asked. */
  readonly allAskedAt: number;
}

export const NO_SURVEY: SurveyState = { asked: [], heard: new Map(), allAskedAt: Number.NEGATIVE_INFINITY };
/** As far back as a promise may be used, at the quickest pace. */
const ASKED_KEPT = 20;

export function rememberAsked(asked: readonly Asked[], seq: number, at: number): readonly Asked[] {
  return [...asked.slice(-ASKED_KEPT), { seq, at }];
}

export interface Pace {
  readonly since: number;
  readonly everyMs: number;
}

/** Asks now and then; and at once when only answers to questions after `since` count, and none was asked after it. */
export function askStandings(context: Context, line: Line, survey: SurveyState, pace: Pace): [SurveyState, Output[]] {
  const last = survey.asked.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  if (last >= pace.since && context.now - last < pace.everyMs) return [survey, []];
  const outputs = shardPeers(context).map(({ node }) => question(context, line, node, { kind: "ask-standing" }));
  return [{ ...survey, asked: rememberAsked(survey.asked, line.seq, context.now) }, outputs];
}

/** Asks the members of the other shards too, with the same number: whether enough of them lead to elect anybody. */
export function askAllStandings(context: Context, line: Line, survey: SurveyState): [SurveyState, Output[]] {
  const { self, deployment, now, rules } = context;
  if (now - survey.allAskedAt < rules.timing.answerFreshMs / 2) return [survey, []];
  const others = deployment.members.filter(({ shard }) => shard !== self.shard);
  const outputs = others.map(({ node }) => question(context, line, node, { kind: "ask-standing" }));
  return [{ ...survey, allAskedAt: now }, outputs];
}

export function takeStanding(survey: SurveyState, message: TellStanding): SurveyState {
  const askedAt = survey.asked.find(({ seq }) => seq === message.seq)?.at;
  if (askedAt === undefined || (survey.heard.get(message.from)?.askedAt ?? -1) > askedAt) return survey;
  return { ...survey, heard: new Map(survey.heard).set(message.from, { standing: message.standing, askedAt }) };
}

/** What is known to be true now of each member of the own shard; `since` drops what was asked before it. */
export function freshStandings(context: Context, survey: SurveyState, since: number): ReadonlyMap<string, Standing> {
  const all = freshOfAll(context, survey, since);
  return new Map([...all].filter(([, { shard }]) => shard === context.self.shard));
}

export function freshOfAll({ rules, now, server }: Context, { heard }: SurveyState, since: number) {
  const { answerFreshMs, gateFreshMs } = rules.timing;
  const oldest = Math.max(since, now - (server.phase === "gated" ? gateFreshMs : answerFreshMs));
  const fresh = new Map<string, Standing>();
  for (const [node, { standing, askedAt }] of heard) if (askedAt >= oldest) fresh.set(node, standing);
  return fresh;
}
