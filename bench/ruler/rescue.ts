/**
 * Replays a conversation through the real planner, extractor and choice of names. After each compaction it takes the rare words that only
 * hidden messages say and that somebody soon writes again, and counts those that each policy still says.
 *
 * The policies differ in what stands beside head, tail and what is in force, which are the same for all. Ours has a summary and names. The second one has
 * the summary alone. The floor has no sentence: it takes the warmest rare words per character, in as much room as ours. Warmth is 0.99 to
 * the power of a word's age, halved where only a tool said it. The floor sees the ruler's own words.
 */
import type { UIMessage } from "ai";
import { extract } from "../../src/model/extractive.ts";
import { DEFAULT_TEMPLATE } from "../../src/steps/draft/template.ts";
import { withoutEmptySections, withoutState } from "../../src/steps/draft/empty-sections.ts";
import { renderTranscript } from "../../src/steps/draft/render.ts";
import { besideEarlier, NOTHING_PINNED } from "../../src/facts/fact.ts";
import { readSayings } from "../../src/facts/gather.ts";
import { renderInForce } from "../../src/facts/render.ts";
import { resolvePolicy, type Policy } from "../../src/steps/plan/policy.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { summaryMessage } from "../../src/facts/summary-message.ts";
import { compactAlong, type Compaction, type Standing, type Summariser } from "../drift/compact.ts";
import type { RareWords } from "./rare-words.ts";
import { CANDIDATES } from "./settings.ts";

/** Messages in which a word counts as needed soon. */
const AHEAD = 60;
/** Most compactions of one conversation. */
const MOST = 40;
/** Characters per token, for sizes that must not depend on our estimate. */
const CHARS_PER_TOKEN = 3.3;
/** A line break that was escaped once more, as in JSON within JSON. */
const ESCAPED_BREAK = /\\[nrt]/g;
const FLOOR_FADES_TO = 0.99;
const FLOOR_READ_SHARE = 0.5;
/** A threshold is this part of a conversation, within these bounds. */
const THRESHOLD_SHARE = 6;
const LEAST_THRESHOLD = 3_000;
const MOST_THRESHOLD = 60_000;

export interface Rescue {
  readonly compactions: number;
  /** Words of hidden messages that are soon written again. */
  readonly needed: number;
  /** Number of those that neither head and tail nor what is in force show. */
  readonly open: number;
  /** Number of open words that summary and names say, that the summary alone says, and that the floor says. */
  readonly rescued: number;
  readonly summaryAlone: number;
  readonly floor: number;
  /** Number of open words that summary and names say, for each candidate of settings.ts. */
  readonly byCandidate: readonly number[];
  /** Mean size of summary and names with the sentence that frames them, as a share of the threshold. */
  readonly size: number;
}

interface Told {
  readonly id: string;
  readonly written: ReadonlySet<string>;
  readonly all: ReadonlySet<string>;
  readonly characters: number;
}

export function measureRescue(messages: readonly UIMessage[], rareWords: RareWords, share: number): Rescue {
  const told = messages.map((message) => readMessage(message, rareWords));
  const whole = told.reduce((sum, { characters }) => sum + characters / CHARS_PER_TOKEN, 0);
  const thresholdTokens = Math.floor(Math.max(LEAST_THRESHOLD, Math.min(MOST_THRESHOLD, whole / THRESHOLD_SHARE)));
  const policy: Policy = resolvePolicy({ thresholdTokens, share });
  const byCandidate = CANDIDATES.map(() => 0);
  let [compactions, needed, open, rescued, summaryAlone, floor, size] = [0, 0, 0, 0, 0, 0, 0];
  const along = compactAlong({ messages, policy, summariser: offline, most: MOST, rebuilds: true, looks: true });
  for (const [at, { standing, after }] of withPlaces(along, told)) {
    const shown = new Set(after.rows.flatMap(({ kind, id }) => (kind === "message" ? [id] : [])));
    const inForce = sayInForce(standing);
    const words = judge(told, { at, shown, inForce, rareWords });
    const said = say(standing, standing.at(-1)?.pinned.names ?? []);
    compactions++;
    needed += words.needed;
    open += words.open.length;
    rescued += countSaid(words.open, said, rareWords);
    summaryAlone += countSaid(words.open, say(standing, []), rareWords);
    for (const [candidate, { weights }] of CANDIDATES.entries()) {
      const names = standing.at(-1)?.namesBy(weights) ?? [];
      byCandidate[candidate] = (byCandidate[candidate] ?? 0) + countSaid(words.open, say(standing, names), rareWords);
    }
    const listed = fillFloor(words.hidden, words.seen, said.length);
    floor += words.open.filter((word) => listed.has(word)).length;
    size += said.length / CHARS_PER_TOKEN / thresholdTokens;
  }
  return {
    compactions,
    needed,
    open,
    rescued,
    summaryAlone,
    floor,
    byCandidate,
    size: size / Math.max(1, compactions),
  };
}

/** The extractive model, as a session without a model of its own uses it. */
const offline: Summariser = {
  offline: true,
  tell: (messages, tokens) => summarise(tokens, transcriptOf(messages), []),
  fold: (drafts, tokens) =>
    summarise(
      tokens,
      null,
      drafts.map(({ text }) => text),
    ),
};

function transcriptOf(messages: readonly UIMessage[]): string {
  return renderTranscript(messages.map((message) => ({ kind: "message", message })));
}

function summarise(summaryTokens: number, transcript: string | null, drafts: readonly string[]) {
  const task = { previous: null, template: DEFAULT_TEMPLATE, references: false, pinsBeside: true };
  const text = extract({ ...task, transcript, drafts, summaryTokens });
  return { text, tokens: estimateTokens(withoutEmptySections(text)) };
}

/** What is in force stands in every view, in a budget of its own. Its words count as seen, as those of head and tail do. */
function sayInForce(standing: readonly Standing[]): string {
  const last = standing.length - 1;
  return standing.map(({ pinned }, at) => renderInForce(at === last ? pinned : besideEarlier(pinned))).join("\n\n");
}

/** The summaries as the view frames them, without what is in force. */
function say(standing: readonly Standing[], names: readonly string[]): string {
  return standing
    .map(({ id, text, pinned: { alone = false } }, at) => {
      const pinned = { ...NOTHING_PINNED, alone, names: at === standing.length - 1 ? names : [] };
      const summary = at === standing.length - 1 ? text : withoutState(text);
      const [part] = summaryMessage({ overlayId: id, summary, pinned }).parts;
      return part?.type === "text" ? part.text : "";
    })
    .join("\n\n");
}

function countSaid(words: readonly string[], said: string, rareWords: RareWords): number {
  const own = rareWords(said);
  return words.filter((word) => own.has(word) || said.includes(word)).length;
}

/** Each compaction with the place of the newest message at that time. */
function* withPlaces(along: Iterable<Compaction>, told: readonly Told[]): Generator<[number, Compaction]> {
  const places = new Map(told.map(({ id }, at) => [id, at]));
  for (const compaction of along) {
    const newest = compaction.outline.rows.findLast(({ kind }) => kind === "message");
    yield [places.get(newest?.id ?? "") ?? 0, compaction];
  }
}

interface Moment {
  readonly at: number;
  readonly shown: ReadonlySet<string>;
  readonly inForce: string;
  readonly rareWords: RareWords;
}

function judge(told: readonly Told[], { at, shown, inForce, rareWords }: Moment) {
  const sofar = told.slice(0, at + 1);
  const seen = new Set(sofar.filter(({ id }) => shown.has(id)).flatMap(({ all }) => [...all]));
  for (const word of rareWords(inForce)) seen.add(word);
  const hidden = sofar.map((each) => (shown.has(each.id) ? null : each));
  const soon = new Set(told.slice(at + 1, at + 1 + AHEAD).flatMap(({ written }) => [...written]));
  const words = new Set(hidden.flatMap((each) => (each === null ? [] : [...each.all])));
  const needed = [...words].filter((word) => soon.has(word));
  return { seen, hidden, needed: needed.length, open: needed.filter((word) => !seen.has(word)) };
}

function fillFloor(
  hidden: readonly (Told | null)[],
  seen: ReadonlySet<string>,
  characters: number,
): ReadonlySet<string> {
  const heat = new Map<string, number>();
  for (const [at, each] of hidden.entries()) {
    const now = FLOOR_FADES_TO ** (hidden.length - at);
    for (const word of each?.all ?? []) {
      const share = each?.written.has(word) === true ? 1 : FLOOR_READ_SHARE;
      heat.set(word, (heat.get(word) ?? 0) + share * now);
    }
  }
  const ranked = [...heat]
    .filter(([word]) => !seen.has(word))
    .toSorted(([a, x], [b, y]) => y / widthOf(b) - x / widthOf(a));
  const chosen = new Set<string>();
  let room = characters;
  for (const [word] of ranked) {
    if (widthOf(word) > room) continue;
    chosen.add(word);
    room -= widthOf(word);
  }
  return chosen;
}

function widthOf(word: string): number {
  return word.length + CHARS_PER_TOKEN;
}

function readMessage(message: UIMessage, rareWords: RareWords): Told {
  const sayings = readSayings(message).map(({ by, text }) => ({ by, text: text.replaceAll(ESCAPED_BREAK, "\n") }));
  const written = rareWords(sayings.flatMap(({ by, text }) => (by === "output" ? [] : [text])).join("\n"));
  const all = rareWords(sayings.map(({ text }) => text).join("\n"));
  const characters = sayings.reduce((sum, { text }) => sum + text.length, 0);
  return { id: message.id, written, all, characters };
}
