/**
 * Updates notes without a model, with sentences and names of the new messages under the headings of the notes.
 *
 * Works like {@link extractSummary}, but answers in the form of edits.ts, with only what changes. Existing text stays
 * word for word, whether prose, a table, code or a person's line. New bullets are appended, and so is what more happened
 * to a file. Only our own bullets are removed, when a newer one supersedes them or when a full section must take more.
 */
import { NOTES_CONDENSE_SHARE } from "../limits.ts";
import { extractSummary, type ExtractInput } from "../../extractive/extract.ts";
import { lineOf, type Bullet } from "../../extractive/bullet.ts";
import { fileOf, mergeFiles } from "../../extractive/carry-on.ts";
import { NAME_LIST } from "../../extractive/names.ts";
import { meaningfulWords, saysTheSame } from "../../extractive/rank.ts";
import {
  NOTHING,
  topicOf,
  ASKED_USER,
  ASSISTANT_SAID,
  BLOCKED,
  LAST_ACTION,
  PASSING_LABELS,
  TO_DO,
  USER_SAID,
} from "../../steps/draft/summary-shape.ts";
import type { CountTokens } from "../../steps/message/measure.ts";
import { joinReferences, splitReferences } from "../../steps/draft/provenance.ts";
import { normalizeTitle } from "../../steps/draft/template.ts";
import { isWithin, wordTokens } from "../../steps/draft/cut-section.ts";
import { hasContent, renderNotes, type NotesSection } from "./document.ts";
import { wholeCharacters } from "../../steps/draft/render.ts";
import { addLines, applyChanges, NO_CHANGES, plainLine, splitSections } from "./edits.ts";
import { followFence } from "../../steps/text/fences.ts";
import { ADDED, AND_SO_ON, readSectionTokens } from "./prompt.ts";

/** Lines of a section that are kept or removed together. */
interface Piece {
  readonly text: string;
  /** True for a bullet derived from the conversation, together with the lines indented under it. */
  readonly isOwn: boolean;
}

interface Sorted {
  readonly title: string;
  /** The current text. */
  readonly text: string;
  /** The pieces that no newer line supersedes. */
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
    const edits = after.flatMap(({ title, text }, at) => tellChange(title, sections[at]?.text ?? "", text));
    return edits.length === 0 ? NO_CHANGES : renderNotes(edits);
  }
  return NO_CHANGES;
}

/** A changed section, by its changes where those are shorter. Empty where nothing changes. */
function tellChange(title: string, before: string, after: string): NotesSection[] {
  if (after === before) return [];
  const [old, now] = [before.split("\n"), after.split("\n")];
  const [had, has] = [new Set(old), new Set(now)];
  const gone = old.filter((line) => line !== "" && !has.has(line)).map((line) => `~~${quote(line, old)}~~`);
  const changes = [...gone, ...now.filter((line) => line !== "" && !had.has(line))].join("\n");
  const isEnough = changes !== "" && changes.length < after.length && applyChanges(before, changes).text === after;
  return [isEnough ? { title: `${title} ${ADDED}`, text: changes } : { title, text: after }];
}

/** Fewest characters of a quoted beginning. */
const QUOTED = 24;

/** As much of a line's beginning as tells it from the others. */
function quote(line: string, lines: readonly string[]): string {
  const plain = plainLine(line);
  const others = lines.map(plainLine).filter((other) => other !== plain);
  for (let chars = QUOTED; chars < plain.length; chars += QUOTED) {
    const beginning = wholeCharacters(plain, 0, chars).trimEnd();
    if (!others.some((other) => other.startsWith(beginning))) return `${beginning}${AND_SO_ON}`;
  }
  return plain;
}

/**
 * If all sections together are over the budget, each round multiplies their budgets by the step. Below the least share it
 * gives up.
 */
const SHARE_STEP = 0.8;
const LEAST_SHARE = 0.01;

/** The new bullets from the messages, within the free tokens, or within those that condensed notes leave. */
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
  const sections = before.map((section) => {
    const grown: Piece[] = [];
    const pieces = readPieces(section.text).filter((piece) => {
      if (!piece.isOwn) return true;
      if (isSuperseded(plainOf(piece.text), news)) return false;
      const file = fileOf(plainOf(piece.text));
      const line = file === null ? undefined : files.get(file);
      if (file === null || line === undefined || merged.has(file)) return true;
      merged.add(file);
      grown.push({ ...piece, text: mergeFile(piece.text, line) });
      return false;
    });
    return { ...section, pieces: [...pieces, ...grown] };
  });
  const known = sections.flatMap(({ pieces }) => pieces.flatMap(({ text }) => text.split("\n").map(plainOf)));
  const saidBefore = known.map((text) => ({ text: text.toLowerCase(), words: meaningfulWords(text) }));
  const everything = known.join("\n");
  return sections.map((section) => ({
    ...section,
    fresh: news.flatMap(({ title, line }) => {
      const isElsewhere = title !== section.title || merged.has(fileOf(plainOf(line)) ?? "");
      return isElsewhere ? [] : unsaid(line, { title, saidBefore, everything });
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

/** True for a bullet with references, or in one of our own forms. */
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

/** The text of a line, without its list mark and references. */
function plainOf(line: string): string {
  return splitReferences(line.split("\n")[0]?.replace(/^\s*- /, "") ?? "").text;
}

/** Bullets on the state, open work and questions are superseded once a newer bullet replaces or answers them. */
function isSuperseded(text: string, news: readonly { readonly line: string }[]): boolean {
  const isSaidAnew = (labels: readonly string[]): boolean =>
    labels.some((label) => text.startsWith(label)) &&
    news.some(({ line }) => labels.some((label) => line.startsWith(label)));
  if (isSaidAnew([USER_SAID, ASSISTANT_SAID, LAST_ACTION]) || isSaidAnew([TO_DO, BLOCKED])) return true;
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

/**
 * A new bullet unless the notes already say the same. A list keeps only names that are missing. Rules are compared word
 * for word.
 */
function unsaid(
  line: string,
  notes: {
    readonly title: string;
    readonly saidBefore: readonly { readonly text: string; readonly words: ReadonlySet<string> }[];
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
  const isKnown = notes.saidBefore.some(
    (known) =>
      known.text === text.toLowerCase() || (!isRule && known.words.size > 0 && saysTheSame(words, known.words)),
  );
  return isKnown ? [] : [`- ${line}`];
}

/** The section with its new bullets, within its budget. Returns the current text if nothing fits into the budget. */
function fill({ text, pieces, fresh }: Sorted, tokens: number, count: CountTokens): string {
  const kept = [...pieces];
  const had = wordTokens(kept.map((piece) => piece.text).join("\n"), count);
  const added = takeNewest(fresh, Math.max(tokens - had, tokens * (1 - NOTES_CONDENSE_SHARE)), count);
  for (;;) {
    const filled = join(kept, added);
    // The last line of a section stays. An update that empties a section is refused.
    if (isWithin(widen(filled), tokens, count) || (kept.length === 1 && added.length === 0)) return filled;
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
  return addLines(pieces.map(({ text }) => text).join("\n"), added.join("\n"));
}

/** Widens references to the length that numbers of messages have after they are resolved. */
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
