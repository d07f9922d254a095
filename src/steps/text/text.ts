/**
 * Texts made safe for a prompt and cut at good places.
 *
 * Characters that people do not see but a model reads are listed here once, by Unicode properties, for every surface that shows a text. A
 * joiner within a word and one selector after its base character stay, so real writing is not harmed. Stored messages stay as they came.
 *
 * Encoded bytes are judged over a whole text. One that only begins like a data URL, such as a line of an event stream, is ordinary text.
 */
import { lazy } from "../../lazy.ts";
import { wholeCharacters } from "../draft/render.ts";

/** All but a single blank, which stays. */
const BREAKS = /[\s\p{Cc}]{2,}|[^\S ]|\p{Cc}/gu;
const PROMPT_TAG =
  /<(?=\/|(?:sections|beginning|earlier-summary|previous-summary|draft|standing|transcript|following|kept|problem|focus)\b)/gi;

const LINE_ENDS = "\\n\\v\\f\\r\\u0085\\u2028\\u2029";
const BLANK = `[^\\S${LINE_ENDS}]`;
const inWords = (words: string): string => words.replaceAll(" ", `${BLANK}+`);
/** The first words of the headings of what stands beside a summary (facts/render.ts). */
const OWN_HEADING = `(?:${["still in force", "what the user said in these messages", "how it began, word for word", "loaded, and it holds"].map(inWords).join("|")})`;
/** And of the line behind all of it (steps/view/view.ts). */
const OWN_END = inWords("end of the record");

/** What may stand before a heading, in a quotation, a list or a table. */
const PLAIN = `(?:${BLANK}|[>+|-]|\\d{1,9}[.)])`;
/** What makes a heading, a bold line or a link of a text, in Markdown or HTML. */
const MARK = "(?:[#*_`[]|<[^<>]{1,200}>)";
/** A line that makes a heading of the line above. */
const UNDERLINE = `[${LINE_ENDS}]+${BLANK}*(?:-+|=+)${BLANK}*(?![^${LINE_ENDS}])`;
/** The start of a line that a reader could take for one of these headings. */
const headingLookalike = lazy(
  () =>
    new RegExp(
      `(?<![^${LINE_ENDS}])(?=${PLAIN}*(?:${MARK}(?:${PLAIN}|${MARK})*(?:${OWN_HEADING}|${OWN_END})|${OWN_HEADING}[^${LINE_ENDS}]*${UNDERLINE}))`,
      "gi",
    ),
);

/** Escapes lines that could pose as headings of facts beside a summary, or as the end of it, so that only pinned facts stand under them. */
export function withoutHeading(text: string): string {
  return text.replaceAll(headingLookalike(), "\\");
}

const CLOSING_TAG =
  /<(?=\/(?:sections|beginning|earlier-summary|previous-summary|draft|standing|transcript|following|kept|problem|focus)\b)/gi;

/** The text with its line breaks, without invisible characters and closing tags of a prompt. */
export function inLines(text: string): string {
  return stripInvisible(text).replaceAll(CLOSING_TAG, "‹");
}

/**
 * The text as one line that cannot close a tag of a prompt. Replaces breaks and such tags, and removes invisible
 * characters.
 */
export function safeLine(text: string): string {
  return stripInvisible(text.replaceAll(BREAKS, " ")).replaceAll(PROMPT_TAG, "‹").trim();
}

const NOT_SEEN = String.raw`\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb`;
const unseen = lazy(() => new RegExp(`[[${NOT_SEEN}]--[\\t\\n]]`, "gv"));

/** Scripts that write words with joiners, or separate them by a zero-width space. */
const JOINED =
  "Arabic Syriac Nko Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Khmer"
    .split(" ")
    .map((script) => `\\p{Script_Extensions=${script}}`);
const IN_A_WORD = `[[${JOINED.join("")}]--[${NOT_SEEN}]]`;
const inPlace = lazy(
  () =>
    new RegExp(
      [
        `(?<=${IN_A_WORD})[\\u200b-\\u200d](?=${IN_A_WORD})`,
        String.raw`(?<=\p{Emoji}\ufe0f|[\p{Extended_Pictographic}\p{Emoji_Modifier}])\u200d(?=\p{Extended_Pictographic})`,
        String.raw`(?<=\p{Emoji})[\ufe0e\ufe0f]`,
        String.raw`(?<=\p{Script=Han})[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]`,
        `(?<=[\\p{Script=Mongolian}--[${NOT_SEEN}]])[\\u180b-\\u180d\\u180f]`,
      ].join("|"),
      "vy",
    ),
);

/** Characters that display as the end of a line, though only "\n" is one. */
const BREAK = /[\v\f\r\u0085\u2028\u2029]/;

/** The text with invisible characters shown by name: `␛` for a control, `⟨U+202E⟩` for others. Idempotent. */
export function showInvisible(text: string): string {
  return replaceUnseen(text, nameOf);
}

/** The text without invisible characters. A character that displays as a line end becomes a space. Idempotent. */
export function stripInvisible(text: string): string {
  return replaceUnseen(text, (character) => (BREAK.test(character) ? " " : ""));
}

/** The invisible characters in a text, each once, in order, as in `U+202E`. */
export function findInvisible(text: string): string[] {
  const found = new Set<string>();
  replaceUnseen(text, (character) => {
    found.add(codeOf(character));
    return "";
  });
  return [...found];
}

/** Most characters that one sentence names. */
const MAX_NAMED = 8;

/**
 * Says which invisible characters a person's text holds, or null. Such a text is refused instead of cleaned, because its author read another
 * text than a model would.
 */
export function tellInvisible(text: string): string | null {
  const found = findInvisible(text);
  if (found.length === 0) return null;
  const named = found.slice(0, MAX_NAMED).join(", ") + (found.length > MAX_NAMED ? ", …" : "");
  return `holds characters that cannot be seen: ${named}. Take them out.`;
}

/** Most texts have only these characters, and are never searched for others. */
const SEEN = /^[\t\n -~]*$/;

function replaceUnseen(text: string, by: (character: string) => string): string {
  if (SEEN.test(text)) return text;
  return text.replaceAll("\r\n", "\n").replaceAll(unseen(), (character: string, at: number, whole: string) => {
    const joiner = inPlace();
    joiner.lastIndex = at;
    return joiner.test(whole) ? character : by(character);
  });
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : `⟨${codeOf(character)}⟩`;
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The fence that is open after a line, given the fence that was open before it. Null for none. */
export function followFence(open: string | null, line: string): string | null {
  const [, mark = "", rest = ""] = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))(.*)$/.exec(line) ?? [];
  if (mark === "") return open;
  if (open === null) return mark.startsWith("`") && rest.includes("`") ? null : mark;
  return mark.startsWith(open) && rest.trim() === "" ? null : open;
}

/** The text with a fence that it leaves open closed, so that it takes in nothing of what follows. */
export function closeFence(text: string): string {
  return [text, findOpenFence(text) ?? []].flat().join("\n");
}

/** The fence that a text leaves open at its end. Null for none. */
export function findOpenFence(text: string): string | null {
  return text.split("\n").reduce(followFence, null as string | null);
}

/** Longer texts than this for each token are not counted (characters). Text that a model reads has 4 to 5, and a run of spaces more. */
const MOST_CHARS_PER_TOKEN = 16;

interface Limit {
  readonly from: number;
  readonly maxTokens: number;
  readonly fits: (to: number) => boolean;
}

/** The last place up to which an answer fits. It is the end of a line, or a character where one line is too long for an answer. */
export function endWithin(text: string, { from, maxTokens, fits }: Limit): number {
  const end = Math.min(text.length, from + maxTokens * MOST_CHARS_PER_TOKEN);
  if (end === text.length && fits(end)) return end;
  let [last, over] = [from + 1, end];
  while (over - last > 1) {
    const middle = (last + over) >> 1;
    if (fits(middle)) last = middle;
    else over = middle;
  }
  const line = text.lastIndexOf("\n", last - 1) + 1;
  return line > from ? line : from + Math.max(1, wholeCharacters(text, from, last).length);
}

/** A list mark in front of a line's own words. */
export const LIST_MARK = /^(?:[-*+•]|\d{1,3}[.)])\s+/;

const MARKUP = /[^\p{L}\p{N}/]+/gu;

/** The words of a text in any markup, with a blank between them. */
export function withoutMarkup(text: string): string {
  return text.replaceAll(MARKUP, " ").trim();
}

/** With a type or `base64`, and after the comma only characters that a URL can have. */
const DATA_URL = /^data:(?:[\w.+-]+\/[\w.+-]+(?:;[\w.+-]+(?:=[^\s;,]*)?)*|(?:;[\w.+-]+=[^\s;,]*)*;base64),\S*$/i;

const UNBROKEN = /^[\w+/=-]+$/;

/** A data URL, or at least `chars` characters of base64 or hex without a break. */
export function isEncoded(text: string, chars: number): boolean {
  return DATA_URL.test(text) || (text.length >= chars && UNBROKEN.test(text));
}

/**
 * Marks in a row after which a joiner stands that orders none of them past it, as Unicode's stream-safe format has it. Real writing has few.
 * The half-width marks of kana become marks in a compatible form.
 */
const STACKED = /[\p{M}\uff9e\uff9f]{30}(?=[\p{M}\uff9e\uff9f])/gu;
const JOINER = "\u034f";

/** The text in a normal form, in linear time. The platform sorts the marks on a character by comparing each with all before it. */
export function normalForm(text: string, form: "NFC" | "NFD" | "NFKC"): string {
  return text.replaceAll(STACKED, (marks) => marks + JOINER).normalize(form);
}

const STOP_WORDS = new Set(
  `a about after all also am an and any are as at be because been before being but by can could did do does doing done
  for from get gets go going got had has have he her here him his how i if in into is it its just let like make me more
  most my no not now of off on one only or other our out over please really same she should so some such than that the
  their them then there these they thing things this those to too up us use very want was we well were what when where
  which while who why will with would you your yes ok okay thanks thank`.split(/\s+/),
);

/** The meaningful words of `text` in lower case, each once. */
export function meaningfulWords(text: string): Set<string> {
  const words = new Set<string>();
  for (const run of text.toLowerCase().split(NOT_OF_A_WORD)) {
    if (run.length > LONGEST_WORD) continue;
    const word = run.replace(/^[./@-]+|[./@-]+$/g, "");
    if (word.length > 1 && !STOP_WORDS.has(word)) words.add(word);
  }
  return words;
}

const NOT_OF_A_WORD = /[^\p{L}\p{N}_$./@-]+/u;
/** In characters. Longer runs are data. */
const LONGEST_WORD = 80;

/** True when nearly all words of the shorter one are in the other. */
export function saysTheSame(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  const [small, large] = one.size <= other.size ? [one, other] : [other, one];
  if (small.size === 0) return true;
  if (small.size < 3 && small.size !== large.size) return false;
  let shared = 0;
  for (const word of small) if (large.has(word)) shared++;
  return shared / small.size >= 0.85 && shared / large.size >= 0.4;
}

export type Slices<T> = Generator<undefined, T, undefined>;

/** Tells when a slice of work is done. It counts characters instead of time, so it stops at the same places each time. */
export class Pace {
  readonly #slice: number;
  readonly #entry: number;
  #left: number;

  /** `chars` is the size of a slice. `entry` is the fixed size that each entry adds to its characters. */
  constructor(chars: number, entry = 0) {
    this.#slice = chars;
    this.#entry = entry;
    this.#left = chars;
  }

  isOver(chars: number): boolean {
    this.#left -= chars;
    if (this.#left > 0) return false;
    this.#left = this.#slice;
    return true;
  }

  isOverEntry(chars: number): boolean {
    return this.isOver(chars + this.#entry);
  }
}

/** Runs all slices without a pause. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Runs one slice after the other, with `pause` in between. */
export async function inSlices<T>(work: Slices<T>, pause: () => Promise<unknown>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pause();
  }
}
