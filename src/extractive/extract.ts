/**
 * Writes a summary without a model, from sentences and names of the conversation under the template's headings.
 *
 * Conversation, earlier summary and drafts in, markdown out. It invents nothing, because every bullet is a slice of the
 * input with at most one fixed label. It is deterministic and stays within its budget.
 */
import { withoutEmptySections } from "../steps/draft/empty-sections.ts";
import { MAX_BULLET_REFERENCES } from "../limits.ts";
import { clip, lineOf, type Bullet } from "./bullet.ts";
import { carryOn } from "./carry-on.ts";
import { readTranscript } from "./entries.ts";
import { gatherEvidence } from "./evidence.ts";
import { findNames, listNames } from "./names.ts";
import { meaningfulWords, saysTheSame } from "./rank.ts";
import {
  joinSections,
  placeTopics,
  topicOf,
  ASSISTANT_SAID,
  LAST_ACTION,
  USER_SAID,
  type Topic,
} from "../steps/draft/summary-shape.ts";
import type { CountTokens } from "../steps/message/measure.ts";
import type { Template } from "../steps/draft/template.ts";

/** The name of the extractive model as a summariser. Its calls cost nothing. */
export const EXTRACTIVE_NAME = "palimpsest:palimpsest-extractive-1";
/** Its name where it stands in for a model that failed. */
export const STAND_IN_NAME = "extractive";

export interface ExtractInput {
  /** The conversation in the form of `renderTranscript`. Null or empty when only drafts are merged. */
  readonly transcript: string | null;
  /** The summary of everything before, which is carried on. */
  readonly previous: string | null;
  /** Whether another text tells how the conversation began. Defaults to true where an earlier summary is given. */
  readonly continues?: boolean | undefined;
  /** Summaries of parts of the conversation, oldest first, to be folded into one. */
  readonly drafts: readonly string[];
  readonly template: Template;
  /** Most tokens of the result without empty sections. If no bullet fits, one bullet is clipped. */
  readonly summaryTokens: number;
  readonly countTokens: CountTokens;
  /** The subject that the reader cares for most, in plain words. */
  readonly focus?: string | null | undefined;
  /** Whether rules and names are pinned beside it. Then they are left out here to save room. Defaults to no. */
  readonly pinsBeside?: boolean | undefined;
  /**
   * Ends each bullet with references to its source messages (draft/provenance.ts). A list of names has none, because
   * each name can be searched itself.
   */
  readonly references?: boolean | undefined;
}

interface Allowance {
  /** The share of the budget that the topic may take before the other topics had theirs. */
  readonly share: number;
  /** The most bullets of the topic, so that it stays a summary. */
  readonly most: number;
}

/** In the order of choosing. The user's rules come first, because an agent that forgets one does harm. */
const ALLOWANCES: readonly (readonly [Topic, Allowance])[] = [
  ["constraints", { share: 0.25, most: 200 }],
  ["goal", { share: 0.11, most: 10 }],
  ["state", { share: 0.12, most: 4 }],
  ["decisions", { share: 0.1, most: 12 }],
  ["done", { share: 0.14, most: 20 }],
  ["errors", { share: 0.09, most: 10 }],
  ["files", { share: 0.13, most: 40 }],
  ["doing", { share: 0.03, most: 6 }],
  ["questions", { share: 0.03, most: 6 }],
];
/**
 * The share of its budget that a summary takes beside pinned facts. The names there bring back far more in the rest (decision 6).
 */
const BESIDE_SHARE = 0.5;
/** The topics of which nothing stands beside a summary. Rules, open work and changed files do. */
const BESIDE_TOPICS: ReadonlySet<Topic> = new Set(["goal", "state", "decisions", "done", "errors"]);
/** The share of the budget kept for the list of names. */
const NAMES_SHARE = 0.1;
/** Most bullets considered of one topic, so that the work does not grow with the square of the conversation. */
const MAX_CANDIDATES = 300;
/** Characters to which a bullet that does not fit is cut before it is dropped. */
const CONDENSED = 90;
/** The same for the assistant's last sentence, which says where to go on and is of no use without its end. */
const LAST_SENTENCE = 140;

/** Between two sentences of a bullet. */
const SENTENCE_END = /(?<=[.!?…]) (?=\S)/;

/** The summary as markdown, with one `##` heading for each section of the template, in its order. */
export function extractSummary(input: ExtractInput): string {
  const titles = input.template.sections.map((section) => section.title);
  const { entries, summaries } = readTranscript(input.transcript ?? "");
  const carried = [...(input.previous === null ? [] : [input.previous]), ...input.drafts, ...summaries];
  const fresh = gatherEvidence(entries, { focus: input.focus ?? "", continues: input.continues ?? carried.length > 0 });
  const pinsBeside = input.pinsBeside === true;
  const carriedOn = carryOn(carried, fresh);
  const sentences = pinsBeside ? carriedOn.filter(isPinnedBeside) : carriedOn;
  const bullets = (sentences.length > 0 ? sentences : carriedOn).map((bullet) => ({
    ...bullet,
    references: input.references === true ? bullet.references.slice(-MAX_BULLET_REFERENCES) : [],
  }));
  const total = input.summaryTokens * (pinsBeside ? BESIDE_SHARE : 1);
  const cost: Cost = (bullet) => input.countTokens(`- ${lineOf(bullet)}\n`);
  const namesTokens = pinsBeside ? 0 : total * NAMES_SHARE;
  const chosen = choose(bullets, total - namesTokens, cost);
  const left = chosen.left + namesTokens;
  const names = pinsBeside ? [] : findNames(entries, carried, chosen.bullets);
  while (names.length > 0 && cost(listNames(names)) > left) names.pop();
  if (names.length > 0) chosen.bullets.push(listNames(names));
  const worthiest = bullets.toSorted((one, other) => worth(other) - worth(one)).slice(0, 1);
  const least = worthiest.map((bullet) => ({ ...bullet, text: condense(bullet.text) }));
  return layOutWithin(titles, chosen.bullets.length === 0 ? least : chosen.bullets, { ...input, summaryTokens: total });
}

/** False for what is pinned beside a summary anyway, such as the user's last request. */
function isPinnedBeside({ topic, text }: Bullet): boolean {
  return BESIDE_TOPICS.has(topic) && !text.startsWith(USER_SAID) && !text.startsWith(LAST_ACTION);
}

/** Lays the bullets out, and drops the least worthy ones while the result is over the budget. */
function layOutWithin(
  titles: readonly string[],
  bullets: readonly Bullet[],
  { summaryTokens, countTokens }: Pick<ExtractInput, "summaryTokens" | "countTokens">,
): string {
  const kept = bullets.toSorted((one, other) => worth(other) - worth(one));
  for (;;) {
    const text = joinSections(titles, sortIntoSections(titles, kept));
    // One short bullet always stays, even over the budget, because a summary must say something.
    if (kept.length <= 1 || countTokens(withoutEmptySections(text)) <= summaryTokens) return text;
    kept.pop();
  }
}

function worth(bullet: Bullet): number {
  return bullet.topic === "constraints" ? 1_000 + bullet.order / 1e9 : bullet.weight;
}

function sortIntoSections(titles: readonly string[], bullets: readonly Bullet[]): Map<string, string[]> {
  const homes = placeTopics(titles);
  const special = titles.filter((title) => topicOf(title) === null && titles.length > 1);
  const bodies = new Map<string, string[]>();
  const rank = new Map(ALLOWANCES.map(([topic], index) => [topic, index]));
  const inOrder = bullets.toSorted(
    (one, other) => (rank.get(one.topic) ?? 0) - (rank.get(other.topic) ?? 0) || one.order - other.order,
  );
  for (const bullet of inOrder) {
    const home = special.find((title) => concerns(title, bullet)) ?? homes.get(bullet.topic);
    if (home !== undefined) bodies.set(home, [...(bodies.get(home) ?? []), lineOf(bullet)]);
  }
  return bodies;
}

/** A heading that matches no topic takes bullets that share a word with it. */
function concerns(title: string, bullet: Bullet): boolean {
  if (bullet.topic === "constraints" || bullet.topic === "state") return false;
  const text = bullet.text.toLowerCase();
  return [...meaningfulWords(title)].some((word) => word.length > 3 && text.includes(word.replace(/s$/, "")));
}

/** Tokens of a bullet's line. */
type Cost = (bullet: Bullet) => number;

/**
 * Fills every topic up to its share, so that none is left out. The rest of the budget goes to the worthiest bullets of
 * any topic.
 */
function choose(candidates: readonly Bullet[], total: number, cost: Cost): { bullets: Bullet[]; left: number } {
  const chosen = new Map<Bullet, ReadonlySet<string>>();
  const counts = new Map<Topic, number>();
  const most = new Map(ALLOWANCES.map(([topic, allowance]) => [topic, allowance.most]));
  let left = total;
  const take = (wanted: readonly Bullet[], share: number, shorten: boolean): void => {
    let budget = Math.min(left, share);
    for (const candidate of wanted) {
      const { topic, text } = candidate;
      const words = meaningfulWords(text);
      const count = counts.get(topic) ?? 0;
      if (count >= (most.get(topic) ?? 0) || isRepeat(candidate, words, chosen)) continue;
      const bullet =
        fit(candidate, { budget, cost, shorten: shorten || count === 0 }) ??
        // The first one of a topic may exceed its share, so that a small summary tells of several topics.
        (count === 0 ? fit(candidate, { budget: left, cost, shorten: true }) : null);
      if (bullet === null) continue;
      chosen.set(bullet, words);
      counts.set(topic, count + 1);
      left -= cost(bullet);
      budget -= cost(bullet);
    }
  };
  const waiting = ALLOWANCES.map(([topic]) => byWorth(candidates, topic).slice(0, MAX_CANDIDATES));
  waiting.forEach((wanted, index) => take(wanted, total * (ALLOWANCES[index]?.[1].share ?? 0), false));
  const rest = waiting.flat().toSorted((one, other) => worth(other) - worth(one));
  take(rest, left, true);
  return { bullets: [...chosen.keys()], left };
}

function byWorth(candidates: readonly Bullet[], topic: Topic): Bullet[] {
  const own = candidates.filter((bullet) => bullet.topic === topic);
  if (topic === "constraints") return own.toSorted((one, other) => other.order - one.order);
  return own.toSorted((one, other) => other.weight - one.weight || one.order - other.order);
}

/** The bullet if there is room, shortened if `shorten` allows that and it helps. Null when it must be dropped. */
function fit(
  bullet: Bullet,
  { budget, cost, shorten }: { readonly budget: number; readonly cost: Cost; readonly shorten: boolean },
): Bullet | null {
  if (cost(bullet) <= budget) return bullet;
  if (!shorten || bullet.topic === "constraints" || bullet.topic === "files") return null;
  const short = { ...bullet, text: condense(bullet.text) };
  return cost(short) <= budget ? short : null;
}

/** A shorter text. Of what the assistant said last, the last whole sentence stays. */
function condense(text: string): string {
  if (!text.startsWith(ASSISTANT_SAID)) return clip(text, CONDENSED);
  const sentences = text.slice(ASSISTANT_SAID.length).split(SENTENCE_END);
  const last = sentences.findLast((each) => !each.endsWith("…")) ?? sentences.at(-1);
  return clip(`${ASSISTANT_SAID}${last}`, LAST_SENTENCE);
}

/** Rules only repeat word for word. Goal and state may repeat other sections, because they are read first. */
function isRepeat(
  bullet: Bullet,
  mine: ReadonlySet<string>,
  chosen: ReadonlyMap<Bullet, ReadonlySet<string>>,
): boolean {
  for (const [other, theirs] of chosen) {
    if (other.text.toLowerCase() === bullet.text.toLowerCase() && other.topic === bullet.topic) return true;
    if (bullet.topic === "constraints" || bullet.topic === "files" || other.topic === "files") continue;
    const own = bullet.topic === "goal" || bullet.topic === "state" || other.topic === "state";
    if (own && other.topic !== bullet.topic) continue;
    if (saysTheSame(mine, theirs)) return true;
  }
  return false;
}
