/**
 * Replays a conversation through the real planner, extractor and choice of names. After each compaction it takes the rare words that only
 * hidden messages say and that somebody soon writes again, and counts those that summary and names still say.
 *
 * The floor is a baseline of equal size at the same moments. It has no summary and takes the warmest rare words per character. Warmth is
 * 0.99 to the power of a word's age, halved where only a tool said it. The floor sees the ruler's own words.
 */
import type { UIMessage } from "ai";
import { extract } from "../../src/model/extractive.ts";
import { DEFAULT_TEMPLATE } from "../../src/steps/draft/template.ts";
import { withoutEmptySections } from "../../src/steps/draft/empty-sections.ts";
import { renderTranscript } from "../../src/steps/draft/render.ts";
import { readSayings } from "../../src/steps/pinned/gather.ts";
import { renderNames } from "../../src/steps/pinned/render.ts";
import { resolvePolicy, type Policy } from "../../src/steps/plan/policy.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { compactAlong, type Compaction, type Summariser } from "../drift/compact.ts";
import type { RareWords } from "./rare-words.ts";

/** Messages in which a word counts as needed soon. */
const AHEAD = 60;
/** Most compactions of one conversation. */
const MOST = 40;
/** Characters per token, for sizes that must not depend on our estimate. */
const CHARS_PER_TOKEN = 3.3;
const FLOOR_FADES_TO = 0.99;
const FLOOR_READ_SHARE = 0.5;
/** A threshold is this part of a conversation, within these bounds. */
const THRESHOLD_SHARE = 6;
const LEAST_THRESHOLD = 3_000;
const MOST_THRESHOLD = 60_000;

export interface Rescue {
  readonly compactions: number;
  /** Needed words that head and tail do not show. */
  readonly open: number;
  /** Number of those that summary and names say, and that the floor says in as much room. */
  readonly rescued: number;
  readonly floor: number;
  /** Mean size of summary and names, as a share of the threshold. */
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
  let [compactions, open, rescued, floor, size] = [0, 0, 0, 0, 0];
  const along = compactAlong({ messages, policy, summariser: offline, most: MOST, rebuilds: true, looks: true });
  for (const [at, compaction] of withPlaces(along, told)) {
    const said = sayBeside(compaction);
    const shown = new Set(compaction.after.rows.flatMap(({ kind, id }) => (kind === "message" ? [id] : [])));
    const words = judge(told, at, shown);
    compactions++;
    open += words.open.length;
    const own = rareWords(said);
    rescued += words.open.filter((word) => own.has(word) || said.includes(word)).length;
    const pinned = fillFloor(words.hidden, words.seen, said.length);
    floor += words.open.filter((word) => pinned.has(word)).length;
    size += said.length / CHARS_PER_TOKEN / thresholdTokens;
  }
  return { compactions, open, rescued, floor, size: size / Math.max(1, compactions) };
}

/** The extractive model, as a session without a model of its own uses it. */
const offline: Summariser = {
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
  const text = withoutEmptySections(extract({ ...task, transcript, drafts, summaryTokens }));
  return { text, tokens: estimateTokens(text) };
}

/** The summaries and the names. Rules in force are left out, because they have a budget of their own. */
function sayBeside({ standing }: Compaction): string {
  return [...standing.map(({ text }) => text), renderNames(standing.at(-1)?.pinned.names ?? [])].join("\n\n");
}

/** Each compaction with the place of the newest message at that time. */
function* withPlaces(along: Iterable<Compaction>, told: readonly Told[]): Generator<[number, Compaction]> {
  const places = new Map(told.map(({ id }, at) => [id, at]));
  for (const compaction of along) {
    const newest = compaction.outline.rows.findLast(({ kind }) => kind === "message");
    yield [places.get(newest?.id ?? "") ?? 0, compaction];
  }
}

function judge(told: readonly Told[], at: number, shown: ReadonlySet<string>) {
  const sofar = told.slice(0, at + 1);
  const seen = new Set(sofar.filter(({ id }) => shown.has(id)).flatMap(({ all }) => [...all]));
  const hidden = sofar.map((each) => (shown.has(each.id) ? null : each));
  const soon = new Set(told.slice(at + 1, at + 1 + AHEAD).flatMap(({ written }) => [...written]));
  const words = new Set(hidden.flatMap((each) => (each === null ? [] : [...each.all])));
  return { seen, hidden, open: [...words].filter((word) => soon.has(word) && !seen.has(word)) };
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
  const sayings = readSayings(message);
  const written = rareWords(sayings.flatMap(({ by, text }) => (by === "output" ? [] : [text])).join("\n"));
  const all = rareWords(sayings.map(({ text }) => text).join("\n"));
  const characters = sayings.reduce((sum, { text }) => sum + text.length, 0);
  return { id: message.id, written, all, characters };
}
