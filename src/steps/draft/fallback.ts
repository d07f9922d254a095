/**
 * The summary that needs no model: the user's words, the last reply, and the calls.
 *
 * A prompt's parts in, Markdown out, within a budget. It quotes and counts and invents nothing. It is what a run ends with where no model
 * answers, and what a Worker without a model shows.
 */
import type { CountTokens } from "../message/message.ts";
import { cutMiddle, parseTranscript, wholeCharacters, type Block, type RenderedMessage } from "./render.ts";
import { isNothing, LAST_REPLY } from "./audit.ts";
import { joinReferences } from "./provenance.ts";
import type { Section } from "./prompt.ts";

/** The offline model's name, and the name of the summary where a model's answer was no use. */
export const EXTRACTIVE_NAME = "palimpsest:palimpsest-extractive-2";
export const STAND_IN_NAME = "extractive";

/** The heading over the user's words in such a summary. */
export const SAID_TITLE = "What the user said";

export interface FallbackInput {
  readonly transcript: string | null;
  /** The summary of what came before. It stays, as far as it has room. */
  readonly previous: string | null;
  /** Summaries of parts, oldest first. */
  readonly drafts: readonly string[];
  /** The titles of the sections, of which the first, the last and those that name calls and questions are used. */
  readonly titles: readonly string[];
  readonly summaryTokens: number;
  readonly countTokens: CountTokens;
  /** Whether lines end with the numbers of their messages. */
  readonly references?: boolean;
}

/** A room's own task, with the sections of its prompt. */
export type OfflineTask = FallbackInput & { readonly sections: readonly Section[] };

/** Characters of one quoted text, and of one call's input. */
const QUOTED_CHARS = 400;
const REPLY_CHARS = 1_200;
const INPUT_CHARS = 100;
const LEAST_QUOTED = 40;
/** In fewer characters the mark of a cut would have no room, and the text would not become shorter. */
const LEAST_MARKED = 100;
/** Each try to fit keeps this share of the lines. */
const SHRINK = 0.8;
const LEAST_LINES = 1;

/** The share of a budget that earlier summaries take, at most. */
const SHARE_OF_EARLIER = 0.5;

interface Lines {
  readonly asked: readonly string[];
  readonly calls: readonly string[];
  readonly reply: string | null;
}

export function fallbackSummary(input: FallbackInput): string {
  const { countTokens, summaryTokens, drafts, previous } = input;
  const messages = parseTranscript(input.transcript ?? "");
  const isReferred = input.references === true;
  const stored = messages.flatMap(({ role, blocks }) => (role === "summary" ? blocks.map(({ text }) => text) : []));
  const earlier = [previous ?? "", ...stored, ...drafts].filter((text) => text.trim() !== "");
  const lines = readLines(messages, { isReferred, chars: QUOTED_CHARS });
  const isFold = lines.asked.length + lines.calls.length === 0 && lines.reply === null;
  const most = Math.floor(summaryTokens * (isFold ? 1 : SHARE_OF_EARLIER));
  const kept = keepEarlier(earlier, most, countTokens);
  let share = 1;
  let text = write(input.titles, kept, lines, share);
  while (countTokens(text) > summaryTokens && Math.max(lines.asked.length, lines.calls.length) * share > LEAST_LINES) {
    share *= SHRINK;
    text = write(input.titles, kept, lines, share);
  }
  // Where the newest lines have no room either, their texts are cut, so that their references stay.
  for (let chars = QUOTED_CHARS; countTokens(text) > summaryTokens; chars *= SHRINK) {
    if (chars < LEAST_QUOTED) return cutToTokens(text, summaryTokens, countTokens);
    share *= SHRINK;
    text = write(input.titles, kept, readLines(messages, { isReferred, chars }), share);
  }
  return text;
}

/** Whether a source has a word that a summary could tell. */
export function hasWords(source: string): boolean {
  const messages = parseTranscript(source);
  if (messages.length === 0) return source.split("\n").some((line) => !line.startsWith("#") && !isNothing(line));
  return messages.some(({ blocks }) => blocks.some(({ kind, text }) => kind !== "reasoning" && !isNothing(text)));
}

function write(titles: readonly string[], earlier: readonly string[], lines: Lines, share: number): string {
  const newest = (list: readonly string[]): readonly string[] => {
    const kept = list.slice(-Math.max(LEAST_LINES, Math.round(list.length * share)));
    return kept.length < list.length ? [`- (${list.length - kept.length} earlier ones are left out)`, ...kept] : kept;
  };
  const [first = "Goal"] = titles;
  const last = titles.at(-1) ?? "State";
  const done = titles.find((title) => /done|progress|work|actions?/i.test(title)) ?? "Calls";
  const reply = lines.reply === null ? [] : [`- ${LAST_REPLY}${cut(lines.reply, REPLY_CHARS * share)}`];
  const calls = newest(lines.calls);
  const sections: (readonly [string, readonly string[]])[] = [
    [SAID_TITLE, newest(lines.asked)],
    ...(done === last
      ? [[done, [...calls, ...reply]] as const]
      : ([
          [done, calls],
          [last, reply],
        ] as const)),
  ];
  const body = sections.flatMap(([title, list]) => (list.length === 0 ? [] : [`## ${title}\n${list.join("\n")}`]));
  const all = [...earlier, ...body];
  return all.length === 0 ? `## ${first}\n- Nothing was said.` : all.join("\n\n");
}

function readLines(
  messages: readonly RenderedMessage[],
  { isReferred, chars }: { readonly isReferred: boolean; readonly chars: number },
): Lines {
  const line = ({ index }: RenderedMessage, text: string): string =>
    joinReferences(`- ${text}`, isReferred ? [`#${index}`] : []);
  const asked = messages.flatMap((message) => {
    if (message.role !== "user" && !message.blocks.some(({ kind }) => kind === "meanwhile")) return [];
    const said = message.blocks.filter(({ kind }) => kind === (message.role === "user" ? "text" : "meanwhile"));
    return said.flatMap(({ text }) => (text.trim() === "" ? [] : [line(message, cut(text, chars))]));
  });
  const calls = messages.flatMap((message) =>
    message.blocks.flatMap((block, at) =>
      block.kind === "call" ? [line(message, tellCall(block, message.blocks[at + 1]))] : [],
    ),
  );
  const replies = messages.filter(({ role }) => role === "assistant").flatMap(({ blocks }) => blocks);
  const reply = replies.findLast(({ kind, text }) => kind === "text" && text.trim() !== "")?.text ?? null;
  return { asked, calls: joinSame(calls), reply };
}

function tellCall({ name, text }: Block, next: Block | undefined): string {
  const input = cut(text, INPUT_CHARS);
  const ended = next?.kind === "error" ? `failed: ${cut(next.text, INPUT_CHARS)}` : "";
  const open = next?.kind === "unanswered" ? "has no result" : "";
  return [`${name} ${input}`.trim(), ended || open].filter((each) => each !== "").join(", ");
}

/** Calls that are the same one after another are told once, with their number. */
function joinSame(lines: readonly string[]): string[] {
  const joined: { text: string; times: number }[] = [];
  for (const text of lines) {
    const last = joined.at(-1);
    if (last !== undefined && last.text.replace(/ \[#\d+\]$/, "") === text.replace(/ \[#\d+\]$/, "")) last.times++;
    else joined.push({ text, times: 1 });
  }
  return joined.map(({ text, times }) => (times === 1 ? text : `${text} (${times} times)`));
}

/** Earlier summaries within a budget in whole lines, the oldest shortened first. */
function keepEarlier(earlier: readonly string[], tokens: number, countTokens: CountTokens): string[] {
  const kept: string[] = [];
  let left = tokens;
  for (const text of earlier.toReversed()) {
    const lines = text.split("\n");
    while (lines.length > 0 && countTokens(lines.join("\n")) > left) lines.pop();
    const shown = lines.join("\n").trimEnd();
    if (shown === "") break;
    kept.unshift(shown);
    left -= countTokens(shown);
  }
  return kept;
}

function cutToTokens(text: string, tokens: number, countTokens: CountTokens): string {
  let cutText = text;
  while (cutText !== "" && countTokens(cutText) > tokens) {
    const length = Math.min(
      cutText.length - 1,
      Math.floor((cutText.length * tokens) / Math.max(1, countTokens(cutText))),
    );
    cutText = length < LEAST_MARKED ? wholeCharacters(cutText, 0, Math.max(0, length)) : cutMiddle(cutText, length);
  }
  return cutText;
}

/** On one line. */
function cut(text: string, characters: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  const most = Math.max(20, Math.floor(characters));
  return line.length <= most ? line : `${wholeCharacters(line, 0, most).trimEnd()} […]`;
}
