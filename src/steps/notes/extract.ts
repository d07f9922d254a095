/**
 * Brings notes up to date without a model: real sentences and names of the new messages, under the headings of the notes.
 *
 * Boundary: as {@link extractSummary}, but the answer has the shape of edits.ts: the sections that change, and no other. What
 * stands in a section stays there word for word, be it prose, a table, code, or a line that somebody wrote: new bullets come
 * behind it, and only a bullet of its own kind gives way, to what supersedes it or, where the section is full, to new ones.
 */
import { NOTES_CONDENSE_SHARE } from "../../limits-of-notes.ts";
import { extractSummary, type ExtractInput } from "../extract/extract.ts";
import {
  ASKED_USER,
  ASSISTANT_SAID,
  BLOCKED,
  LAST_ACTION,
  lineOf,
  PASSING_LABELS,
  TO_DO,
  USER_SAID,
  type Bullet,
} from "../extract/bullet.ts";
import { fileOf, mergeFiles } from "../extract/carry-on.ts";
import { NAME_LIST } from "../extract/names.ts";
import { meaningfulWords, saysTheSame } from "../extract/rank.ts";
import { NOTHING, topicOf } from "../extract/summary-shape.ts";
import type { CountTokens } from "../message/measure.ts";
import { joinReferences, splitReferences } from "../draft/provenance.ts";
import { normalizeTitle } from "../draft/template.ts";
import { hasContent, isWithin, renderNotes, wordTokens, type NotesSection } from "./document.ts";
import { NO_CHANGES, splitSections } from "./edits.ts";
import { followFence } from "./fences.ts";
import { readSectionTokens } from "./prompt.ts";

/** Some lines of a section that stay or go together. */
interface Piece {
  readonly text: string;
  /** A bullet that the conversation was the source of, with what is indented under it. */
  readonly isOwn: boolean;
}

interface Sorted {
  readonly title: string;
  /** As it stands. */
  readonly text: string;
  /** Without what is superseded. */
  readonly pieces: readonly Piece[];
  readonly fresh: readonly string[];
  readonly tokens: number;
}

export function extractEdits(input: ExtractInput): string {
  const previous = new Map(sectionsOf(input.previous ?? "").map(({ title, text }) => [normalizeTitle(title), text]));
  const budgets = input.template.sections.map(({ title, hint }) => ({
    title,
    text: previous.get(normalizeTitle(title)) ?? "",
    tokens: readSectionTokens(hint) ?? Number.MAX_SAFE_INTEGER,
  }));
  const sections = sortIn(budgets, readFresh(input, budgets));
  for (let share = 1; share > LEAST_SHARE; share *= SHARE_STEP) {
    const after = sections.map((section) => ({
      title: section.title,
      text: fill(section, section.tokens * share, input.countTokens),
    }));
    if (!isWithin(widen(renderNotes(after)), input.summaryTokens, input.countTokens)) continue;
    const edits = after.filter(({ text }, at) => text !== sections[at]?.text);
    return edits.length === 0 ? NO_CHANGES : renderNotes(edits);
  }
  return NO_CHANGES;
}

/** How much less every section may hold where all of them are over the budget, from round to round, and when to give up. */
const SHARE_STEP = 0.8;
const LEAST_SHARE = 0.01;

/** What the new messages have to tell: within what is free, or within the room that full notes make. */
function readFresh(input: ExtractInput, before: readonly NotesSection[]): NotesSection[] {
  const free = input.summaryTokens - wordTokens(renderNotes(before), input.countTokens);
  const least = Math.floor(input.summaryTokens * (1 - NOTES_CONDENSE_SHARE));
  const continues = hasContent(before);
  const summaryTokens = Math.max(free, least);
  return sectionsOf(extractSummary({ ...input, previous: null, drafts: [], continues, summaryTokens }));
}

function sectionsOf(markdown: string): NotesSection[] {
  return splitSections(markdown).flatMap(({ title, text }) =>
    title === null ? [] : [{ title, text: text === NOTHING ? "" : text }],
  );
}

function sortIn(
  before: readonly { readonly title: string; readonly text: string; readonly tokens: number }[],
  fresh: readonly NotesSection[],
): Sorted[] {
  const news = fresh.flatMap(({ title, text }) =>
    text === "" ? [] : text.split("\n").map((line) => ({ title, line: line.replace(/^- /, "") })),
  );
  const files = new Map(news.flatMap(({ line }) => nameFile(line)));
  const merged = new Set<string>();
  const sections = before.map((section) => ({
    ...section,
    pieces: readPieces(section.text).flatMap((piece) => {
      if (!piece.isOwn) return [piece];
      if (isSuperseded(plainOf(piece.text), news)) return [];
      const file = fileOf(plainOf(piece.text));
      const line = file === null ? undefined : files.get(file);
      if (file === null || line === undefined || merged.has(file)) return [piece];
      merged.add(file);
      return [{ ...piece, text: mergeFile(piece.text, line) }];
    }),
  }));
  const known = sections.flatMap(({ pieces }) => pieces.flatMap(({ text }) => text.split("\n").map(plainOf)));
  const told = known.map((text) => ({ text: text.toLowerCase(), words: meaningfulWords(text) }));
  const everything = known.join("\n");
  return sections.map((section) => ({
    ...section,
    fresh: news.flatMap(({ title, line }) => {
      const isElsewhere = title !== section.title || merged.has(fileOf(plainOf(line)) ?? "");
      return isElsewhere ? [] : unsaid(line, { title, told, everything });
    }),
  }));
}

function nameFile(line: string): [string, string][] {
  const file = fileOf(splitReferences(line).text);
  return file === null ? [] : [[file, line]];
}

function readPieces(text: string): Piece[] {
  const pieces: Piece[] = [];
  let fence: string | null = null;
  for (const line of text === "" ? [] : text.split("\n")) {
    const inFence = fence !== null;
    fence = followFence(fence, line);
    const last = pieces.at(-1);
    if (last?.isOwn === true && !inFence && /^[ \t]+\S/.test(line)) {
      pieces[pieces.length - 1] = { ...last, text: `${last.text}\n${line}` };
    } else pieces.push({ text: line, isOwn: !inFence && isOwn(line) });
  }
  return pieces;
}

/** A bullet that says where it comes from, or that has a form of ours. */
function isOwn(line: string): boolean {
  if (!line.startsWith("- ")) return false;
  const { text, references } = splitReferences(line.slice(2));
  return (
    references.length > 0 ||
    PASSING_LABELS.some((label) => text.startsWith(label)) ||
    NAME_LIST.test(text) ||
    fileOf(text) !== null
  );
}

/** What a line says, without its mark and its references. */
function plainOf(line: string): string {
  return splitReferences(line.split("\n")[0]?.replace(/^\s*- /, "") ?? "").text;
}

/** How things stood, what was to be done, and what was asked, is over once that is told anew, or was answered. */
function isSuperseded(text: string, news: readonly { readonly line: string }[]): boolean {
  const isToldAnew = (labels: readonly string[]): boolean =>
    labels.some((label) => text.startsWith(label)) &&
    news.some(({ line }) => labels.some((label) => line.startsWith(label)));
  if (isToldAnew([USER_SAID, ASSISTANT_SAID, LAST_ACTION]) || isToldAnew([TO_DO, BLOCKED])) return true;
  return text.startsWith(ASKED_USER) && news.some(({ line }) => line.startsWith(USER_SAID));
}

function mergeFile(old: string, line: string): string {
  const [first = "", ...under] = old.split("\n");
  const [bullet] = mergeFiles([first.slice(2), line].map(toFileBullet));
  return [bullet === undefined ? first : `- ${lineOf(bullet)}`, ...under].join("\n");
}

function toFileBullet(line: string): Bullet {
  return { topic: "files", weight: 0, order: 0, ...splitReferences(line) };
}

/** A new bullet as far as the notes do not say the same: of names, those that they do not have; rules, word for word. */
function unsaid(
  line: string,
  notes: {
    readonly title: string;
    readonly told: readonly { readonly text: string; readonly words: ReadonlySet<string> }[];
    readonly everything: string;
  },
): string[] {
  const [label = ""] = NAME_LIST.exec(line) ?? [];
  if (label !== "") {
    const names = line.slice(label.length).split(", ");
    const newNames = names.filter((name) => !notes.everything.includes(name));
    return newNames.length === 0 ? [] : [`- ${label}${newNames.join(", ")}`];
  }
  const text = plainOf(line);
  const words = meaningfulWords(text);
  const isRule = topicOf(notes.title) === "constraints";
  const isTold = notes.told.some(
    (known) =>
      known.text === text.toLowerCase() || (!isRule && known.words.size > 0 && saysTheSame(words, known.words)),
  );
  return isTold ? [] : [`- ${line}`];
}

/** The section with what is new, within its budget; as it stands where that has no room at all. */
function fill({ text, pieces, fresh }: Sorted, tokens: number, count: CountTokens): string {
  const kept = [...pieces];
  const had = wordTokens(kept.map((piece) => piece.text).join("\n"), count);
  const added = takeNewest(fresh, Math.max(tokens - had, tokens * (1 - NOTES_CONDENSE_SHARE)), count);
  for (;;) {
    const filled = join(kept, added);
    if (isWithin(widen(filled), tokens, count)) return filled;
    const oldest = kept.findIndex(({ isOwn }) => isOwn);
    if (oldest !== -1) kept.splice(oldest, 1);
    else if (added.length > 0) added.shift();
    else return text;
  }
}

function takeNewest(lines: readonly string[], tokens: number, count: CountTokens): string[] {
  const taken: string[] = [];
  for (const line of lines.toReversed())
    if (isWithin(widen([line, ...taken].join("\n")), tokens, count)) taken.unshift(line);
  return taken;
}

function join(pieces: readonly Piece[], added: readonly string[]): string {
  const before = pieces
    .map(({ text }) => text)
    .join("\n")
    .trim();
  const isList = /(?:^|\n)(?:[-*+] |\d{1,3}[.)] |[ \t]+\S)[^\n]*$/.test(before);
  return [before, added.join("\n")].filter((part) => part !== "").join(isList ? "\n" : "\n\n");
}

/** With references as long as those that the numbers of messages are turned into. */
function widen(text: string): string {
  return text
    .split("\n")
    .map((line) => {
      const { text: plain, references } = splitReferences(line);
      return joinReferences(
        plain,
        references.map((each) => each.replace(/^#.*/, "@0000000")),
      );
    })
    .join("\n");
}
