/**
 * Audits a draft before it may replace anything. A draft must be a summary, be complete and be smaller than its source.
 *
 * Its form is the model's own: good prose without our headings is a summary. A heading is known by its words, so summaries and notes with
 * other templates are read like our own. Each known kind of false answer has its own check and a named problem, so that a repair can be asked
 * for.
 */
import { SECTION_BUDGET, PROMPT_TAGS, type Template } from "./prompt.ts";
import { LIST_MARK, withoutMarkup, followFence, closeFence } from "../text/text.ts";
import { MAX_REFERENCED_RATIO, TOLERATED_SUMMARY_TOKENS } from "../../limits.ts";
import type { CountTokens } from "../message/message.ts";
import { dropReferences } from "./provenance.ts";
import { wholeCharacters } from "./render.ts";
import type { Policy } from "../plan/policy.ts";

/** What a section is about. */
type Topic = "goal" | "constraints" | "decisions" | "done" | "doing" | "files" | "errors" | "questions" | "state";

/** The text of an empty section. */
export const NOTHING = "None.";

/** Label of the assistant's last words, which a newer one replaces. */
export const LAST_REPLY = "Last reply: ";

const HEADING_WORDS: readonly (readonly [Topic, RegExp])[] = [
  ["state", /\b(?:current|state|next|status|situation)\b/i],
  ["doing", /^(?:in progress|pending|to-?do|remaining|blocked|blockers)\b/i],
  ["constraints", /\b(?:constraints?|preferences?|rules?|requirements?|instructions?)\b/i],
  ["goal", /\b(?:goals?|objectives?|intent|purpose|tasks?|requests?|asks?)\b/i],
  ["decisions", /\b(?:decisions?|agreed|agreements?|rationale|choices)\b/i],
  ["files", /\b(?:files?|artifacts?|resources?|references?|paths?)\b/i],
  ["errors", /\b(?:errors?|fix(?:es)?|problems?|issues?|failures?|bugs?)\b/i],
  ["questions", /\b(?:open|questions?|unresolved|unknowns?)\b/i],
  ["done", /\b(?:progress|done|completed|work|(?:work)?log|history|happened|results?|accomplishments?|actions?)\b/i],
];

/** The topic of a heading. Null when its words tell none. */
export function topicOf(title: string): Topic | null {
  return HEADING_WORDS.find(([, words]) => words.test(title))?.[0] ?? null;
}

/**
 * Whether a summary or a section of it tells anything. False for headings alone, for "None." under each, and for lines
 * that only repeat one of `hints` or the token budget after it.
 */
export function tellsSomething(markdown: string, hints: readonly string[] = []): boolean {
  const asked = new Set(hints.map(plainWords));
  return readBullets(markdown).some(({ text }) => {
    const words = plainWords(text);
    return words !== "" && !asked.has(words);
  });
}

function plainWords(text: string): string {
  return withoutMarkup(text.replace(SECTION_BUDGET, "").toLowerCase());
}

export interface SummaryBullet {
  /** The heading over it. Empty above the first heading. */
  readonly section: string;
  readonly text: string;
}

/** The bullets of a summary with their headings, in order. */
export function readBullets(markdown: string): SummaryBullet[] {
  const found: SummaryBullet[] = [];
  let section = "";
  let nested = false;
  for (const raw of markdown.split("\n")) {
    const line = raw.trim();
    const title = /^#{1,6}\s+(\S.*)$/.exec(line)?.[1] ?? /^\*\*([^*]{1,80})\*\*:?$/.exec(line)?.[1];
    if (title !== undefined) {
      section = title;
      nested = false;
      continue;
    }
    const text = oneLine(line.replace(LIST_MARK, ""));
    if (isNothing(text)) continue;
    const continues = nested && !LIST_MARK.test(line) && /^\s/.test(raw);
    const last = found.at(-1);
    if (continues && last !== undefined) found[found.length - 1] = { ...last, text: `${last.text} ${text}` };
    else found.push({ section, text });
    nested = true;
  }
  return found;
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

const SECTION_HEADING = /^#{1,6}[ \t]/;
const GOAL = /^#{1,6}[ \t]+goal/i;
const STATE = /^#{1,6}[ \t]+state[ \t]*$/i;
/** Phrases that stand for an empty section. */
const EMPTY_WORDS =
  /^(?:none|nothing|nil|n\/?a|n a|not applicable|not yet)(?: (?:yet|so far|at (?:this|the) (?:time|moment)|known|noted|recorded|to (?:note|report)|here))?$/i;

/** If every section is empty, the first one stays, because a summary is never blank. */
export function withoutEmptySections(markdown: string): string {
  const sections: string[][] = [[]];
  let fence: string | null = null;
  for (const line of markdown.split("\n")) {
    if (fence === null && SECTION_HEADING.test(line)) sections.push([]);
    sections.at(-1)?.push(line);
    fence = followFence(fence, line);
  }
  const isTelling = sections.map((section) => section.some((line) => !SECTION_HEADING.test(line) && !isNothing(line)));
  // A heading over others tells what they are about.
  for (let at = sections.length - 2; at > 0; at--) {
    const [own = "", next = ""] = [sections[at]?.[0], sections[at + 1]?.[0]];
    if (own.search(/[^#]/) < next.search(/[^#]/)) isTelling[at] ||= isTelling[at + 1] === true;
  }
  const telling = sections.filter((section, at) => isTelling[at]);
  const shown = telling.length > 0 ? telling : sections.filter((lines) => lines.join("").trim() !== "").slice(0, 1);
  return shown
    .map((lines) => lines.join("\n"))
    .join("\n")
    .trimEnd();
}

/**
 * The text without the section on the state of things, for a summary with a later one behind it, whose state holds.
 * Empty if it says nothing else. Unchanged without a heading for a goal, because it follows another template then, where
 * a state may be anything.
 */
export function withoutState(markdown: string): string {
  let [fence, isState]: [string | null, boolean] = [null, false];
  const lasting = markdown.split("\n").filter((line) => {
    if (fence === null && SECTION_HEADING.test(line)) isState = STATE.test(line);
    fence = followFence(fence, line);
    return !isState;
  });
  if (!lasting.some((line) => GOAL.test(line))) return markdown;
  return lasting.every((line) => SECTION_HEADING.test(line) || isNothing(line)) ? "" : lasting.join("\n").trimEnd();
}

/** Whether a line tells nothing. It has no word at all, or a phrase such as "None." in any markup. */
export function isNothing(line: string): boolean {
  const words = withoutMarkup(line.trim().replace(LIST_MARK, ""));
  return words === "" || EMPTY_WORDS.test(words);
}

/** Tokens of the words. The budgets count words only, without references. */
export function wordTokens(text: string, count: CountTokens): number {
  return count(dropReferences(text));
}

/** Whether a text keeps to a budget by its words, and to the larger limit with its references. */
export function isWithin(text: string, tokens: number, count: CountTokens): boolean {
  return count(text) <= tokens * MAX_REFERENCED_RATIO && wordTokens(text, count) <= tokens;
}

/** The line at the end of a cut text, and the token counter. */
export interface CutOptions {
  readonly pointer: string;
  readonly countTokens: CountTokens;
}

/** The factor by which a section or a line shrinks in the next round of fitting. */
export const CAP_STEP = 0.8;

/**
 * The text's first lines within so many tokens, followed by the pointer. Returns the same text where it fits. If the
 * first line is too long, its beginning is used. A code fence that the cut leaves open is closed.
 */
export function cutSection(text: string, tokens: number, { pointer, countTokens }: CutOptions): string {
  const fitsIn = (part: string): boolean => isWithin(part, tokens, countTokens);
  if (fitsIn(text)) return text;
  const lines = text.split("\n");
  const cutAt = (count: number): string => closeWith(pointer, lines.slice(0, count).join("\n"));
  // Binary search, because a person's text may have thousands of lines, and notes are cut whenever they are shown.
  let [fits, over] = [0, lines.length];
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (fitsIn(cutAt(middle))) fits = middle;
    else over = middle;
  }
  if (fits > 0) return cutAt(fits);
  const [first = ""] = lines;
  for (let characters = first.length; characters >= LEAST_CUT; characters = Math.floor(characters * CAP_STEP)) {
    const cut = closeWith(pointer, wholeCharacters(first, 0, characters).trimEnd());
    if (fitsIn(cut)) return cut;
  }
  return fitsIn(pointer) ? pointer : "";
}

/** Fewer characters of a line than this say nothing. */
const LEAST_CUT = 20;

function closeWith(pointer: string, text: string): string {
  return [text === "" ? "" : closeFence(text), pointer].filter((line) => line !== "").join("\n");
}

export type AuditProblemKind =
  | "empty"
  | "unfinished"
  /** The answer was longer than the limit up to which any answer is read. */
  | "endless"
  | "refusal"
  | "too-large"
  /** It names what stands nowhere in what the model was shown. */
  | "unfounded"
  | "tool-call"
  | "echo"
  /** All headings are empty although the source has something to tell. */
  | "hollow"
  /** A person's text contains invisible characters. */
  | "unseen"
  /** Notes only: the answer has another shape, or it removes facts that still hold. */
  | "bad-shape"
  | "shrunk";

export interface AuditProblem {
  readonly kind: AuditProblemKind;
  /** One sentence that names the fault and its remedy, so that a model can act on it. */
  readonly detail: string;
}

export interface AuditInput {
  readonly text: string;
  /** The AI SDK's reason (`stop`, `length`, `content-filter`, `tool-calls`, `error`, `other`) or our own `too-long`. */
  readonly finishReason: string;
  /** Tokens of the view that the summary would replace. */
  readonly spanTokens: number;
  readonly policy: Policy;
  readonly template: Template;
  readonly countTokens: CountTokens;
  /** What the text names although it stands nowhere in what the model was shown. Given where that may still be repaired. */
  readonly unfounded?: readonly string[] | undefined;
  /** Whether a model wrote it. A person and a caller's own code may say what matters in a few words. */
  readonly byModel?: boolean | undefined;
  /** Whether the source has anything that the text does not tell. Called only where that says next to nothing. Defaults to yes. */
  readonly hasMatter?: (() => boolean) | undefined;
}

export type Audit =
  | { readonly ok: true; readonly tokens: number }
  | { readonly ok: false; readonly problems: readonly AuditProblem[] };

/** The first words of a refusal in English, for a source of which a summary may well name nothing. Any other is known by its form. */
const REFUSAL =
  /^\W*(?:i['’]?m (?:very )?sorry|sorry,|i apologi[sz]e|i (?:can(?:no|['’])?t|am (?:unable|not able)|['’]?m (?:unable|not able)|won['’]?t|must decline)|as an ai\b)/i;
/** An answer that begins as a tool call, even inside a code fence. */
const CALLS_AT_START =
  /^(?:```\w*\s*)?(?:<(?:tool_call|function_calls?|tool_use|invoke)\b|\{\s*"(?:name|tool|function|tool_calls?)"\s*:)/i;
/** Markup of a tool call at the start of a line. In a bullet, in code or within a sentence it counts as quoted. */
const CALL_LINE = /^<(?:tool_call|function_calls?|tool_use|invoke)\b/im;
const FENCED = /^[ \t]*(```|~~~)[^]*?^[ \t]*\1/gm;
const PROMPT_TAG = new RegExp(`^</?(?:${PROMPT_TAGS}) \\S+>$`, "m");
const TRANSCRIPT_LINE =
  /^\[(?:#\d+ (?:system|user|assistant|summary)|call \S+(?: \S+)?|(?:result|error|denied)(?: \S+ \S+)?|unanswered)\]$/gm;
/** At least one copied line must match this, because a table of a settings file may also be called `[error]`. */
const TELLING_LINE = /^\[(?:#\d+ (?:system|user|assistant|summary)|call \S+(?: \S+)?)\]$/m;
/** A summary may quote the transcript, but this many marker lines count as a copy. */
const COPIED_LINES = 3;
/** An error page, an error of an API, a status, or a stack, which a gateway gave in place of an answer. */
const ERROR_TEXT =
  /^(?:<!doctype html\b|<html\b|(?:error|http(?:\/[\d.]{1,3})?)[: ]{1,2}[45]\d\d\b|\{\s*"(?:error|errors|detail)"\s*:|Traceback \(most recent call last\))/i;
const HEADING = /^\s{0,3}(?:#{1,6}[ \t]|\*\*[^*\n]{1,80}\*\*:?\s*$)/m;
/** Tokens below which prose without a heading says next to nothing, where its source has so many. */
const LEAST_PROSE_TOKENS = 25;
/** The same for what has numbers, names or lists in one section or two, and for bare sentences. */
const LEAST_TOKENS = 50;
const LEAST_BARE_TOKENS = 120;
const MUCH_SOURCE_TOKENS = 500;
/** A source so many times as long has more to tell than bare sentences do, whatever words they share with it. */
const LEAST_SHARE = 200;
/** Letters of a word that says something. Scripts without blanks have more in a sign. */
const WORD = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]{2}|^.{5}/u;
/** Fewer words of a source stand in any other. */
const LEAST_KNOWN = 2;
/** Characters of a text that may say next to nothing. */
const MOST_BARE_CHARS = 2_000;

/** A number, a message, or a name with a sign or a capital within, which stand in few texts. */
const NAME = /\p{N}.*\p{N}|[\p{L}\p{N}][_./@:-]\p{L}|\p{Ll}\p{Lu}|^[#@]./u;
/** Code, or what stands between blanks and marks. */
const PIECE = /(?<=`)[^`\n]{3,80}(?=`)|[^\s()[\]{}<>,;`"“”„«»「」『』*]+/gu;

/** Whether a short text names something of its source, or shares two in five of its words with it. A longer one tells enough. */
export function sharesWords(text: string, source: string): boolean {
  if (text.length > MOST_BARE_CHARS) return true;
  const told = text.replaceAll(/^#{1,6}[ \t].*$/gm, "");
  const all = [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(told.toLowerCase())];
  const words = new Set(all.flatMap(({ segment, isWordLike }) => (isWordLike && WORD.test(segment) ? [segment] : [])));
  const known = source.toLowerCase();
  const names = [...told.matchAll(PIECE)].filter(({ 0: piece, index }) => told[index - 1] === "`" || NAME.test(piece));
  if (names.some(([name]) => known.includes(name.toLowerCase().replace(/[.:!?]{1,3}$/, "")))) return true;
  return [...words].filter((word) => known.includes(word)).length * 5 >= Math.max(LEAST_KNOWN * 5, words.size * 2);
}

/** Audits one draft as the summary of its whole source. */
export function auditSummary(input: AuditInput): Audit {
  const text = input.text.trim();
  const telling = withoutEmptySections(text);
  const size = { tokens: input.countTokens(telling), words: input.countTokens(dropReferences(telling)) };
  const problems = [...findFalseAnswers(text, input.finishReason), ...findMisfits(text, size, input)];
  return problems.length === 0 ? { ok: true, tokens: size.tokens } : { ok: false, problems };
}

/** Finds the kinds of answer that models are known to give instead of a summary. */
export function findFalseAnswers(text: string, finishReason: string): AuditProblem[] {
  const problems: AuditProblem[] = [];
  const add = (kind: AuditProblemKind, detail: string): unknown => problems.push({ kind, detail });
  if (!/\p{L}/u.test(text)) add("empty", "The answer holds no words. Write the summary.");
  if (finishReason === "length")
    add("unfinished", "The answer was cut off at the output limit. Write a shorter summary that ends.");
  if (finishReason === "too-long")
    add("endless", "The answer did not come to an end, and was stopped. Write a short summary that ends.");
  if (finishReason === "error") add("unfinished", "The model broke off with an error. Write the whole summary.");
  if (finishReason === "content-filter") add("refusal", "The provider's filter stopped the answer.");
  if (refuses(text) || refusesEverywhere(text))
    add(
      "refusal",
      "The answer declines instead of summarising. Only record what the transcript says; nothing is to be carried out.",
    );
  if (ERROR_TEXT.test(text)) add("refusal", "The answer is the text of an error. Write the summary.");
  if (finishReason === "tool-calls" || callsTool(text)) {
    add("tool-call", "The answer calls a tool. There are none: write the summary as text.");
  }
  if (PROMPT_TAG.test(text) || copiesTranscript(text)) {
    add("echo", "The answer copies the prompt or the transcript. Summarise it in sections instead.");
  }
  return problems;
}

/** What stands under each heading, without empty ones. */
function bodiesOf(text: string): string[] {
  return text
    .split(/^#{1,6}[ \t].*$/m)
    .map((body) => body.trim().replace(LIST_MARK, ""))
    .filter((body) => !isNothing(body));
}

/** Whether the same sentence, or a refusal, stands under each of several headings. */
function refusesEverywhere(text: string): boolean {
  const said = bodiesOf(text);
  if (said.length >= MANY_SECTIONS && new Set(said).size === 1) return true;
  return said.length > 0 && said.every(refuses);
}

function refuses(body: string): boolean {
  return REFUSAL.test(body) && !MATTER.test(body);
}

/** Fewer sections may well say the same. */
const MANY_SECTIONS = 3;
/** Words, or signs of a script without blanks, from which on a sentence is one. */
const LEAST_SIGNS = 4;
const MATTER = /[\p{N}@_`"“”„«»「」『』]|[\p{L}\p{N}][/.:][\p{L}\p{N}]|^\p{L}[^.!?:\n]{0,40}: /u;

/** Whether a section is sentences that name nothing. A summary of much names something, and a refusal does not, in any language. */
function isBare(body: string): boolean {
  return body.split("\n").every((line) => line.trim() === "" || isBareSentence(line.trim()));
}

function isBareSentence(line: string): boolean {
  return /[.!…。！]$/.test(line) && !LIST_MARK.test(line) && !MATTER.test(line) && signsOf(line).size >= LEAST_SIGNS;
}

/** The words of a text. Scripts without blanks are told by their signs. */
function signsOf(text: string): ReadonlySet<string> {
  return new Set(
    text
      .toLowerCase()
      .match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{M}\p{N}]+/gu),
  );
}

function copiesTranscript(text: string): boolean {
  const lines = text.replaceAll(FENCED, "").match(TRANSCRIPT_LINE) ?? [];
  return lines.length >= COPIED_LINES && lines.some((line) => TELLING_LINE.test(line));
}

function callsTool(text: string): boolean {
  return CALLS_AT_START.test(text) || CALL_LINE.test(text.replaceAll(FENCED, ""));
}

/**
 * An answer may be so much longer than it was asked to be. A model counts words, and a text full of ids has two or three tokens in each. To
 * ask again costs a call, and the plan goes by the summary's true size.
 */
const STRETCH = 2;

/** References may take half as much again. A text with more of them is an index. */
const WITH_REFERENCES = 1.5;

/** `words` are the tokens without references. */
function findMisfits(
  text: string,
  { tokens, words }: { readonly tokens: number; readonly words: number },
  input: AuditInput,
): AuditProblem[] {
  const { policy, spanTokens } = input;
  const problems: AuditProblem[] = [];
  const share = Math.floor(spanTokens * policy.maxSummaryRatio);
  const budget = Math.max(Math.ceil(policy.summaryTokens * STRETCH), TOLERATED_SUMMARY_TOKENS);
  const most = Math.ceil(budget * WITH_REFERENCES);
  const tooLarge = (count: number, most: number, why: string): unknown =>
    problems.push({
      kind: "too-large",
      detail: `The summary is ${count} tokens; at most ${most} are allowed (${why}). Condense it.`,
    });
  // The whole text must be smaller than the source. The budget counts its words only, without references.
  if (tokens > share) tooLarge(tokens, share, `${policy.maxSummaryRatio} of the ${spanTokens} that it replaces`);
  else if (words > budget) tooLarge(words, budget, "the budget");
  else if (tokens > most) tooLarge(tokens, most, "with its references");
  problems.push(...findHollow(text, words, input));
  const { unfounded = [] } = input;
  if (unfounded.length > 0) problems.push({ kind: "unfounded", detail: unfoundedProblem(unfounded) });
  return problems;
}

/** What says nothing, or next to nothing of much. */
function findHollow(
  text: string,
  words: number,
  { spanTokens, template, byModel, hasMatter }: AuditInput,
): AuditProblem[] {
  if (!/\p{L}/u.test(text)) return [];
  const hints = template.sections.map(({ hint }) => hint);
  const hasMore = (): boolean => hasMatter?.() ?? true;
  if (!tellsSomething(text, hints)) {
    const detail =
      "Nothing stands under any heading. Write down what the source tells, under the headings that it belongs to.";
    return hasMore() ? [{ kind: "hollow", detail }] : [];
  }
  if (byModel !== true || spanTokens < MUCH_SOURCE_TOKENS) return [];
  const isPlain = !HEADING.test(text) && words < LEAST_PROSE_TOKENS;
  const bodies = bodiesOf(text);
  const isAllBare = bodies.every(isBare);
  const isShort = isAllBare ? words < LEAST_BARE_TOKENS : words < LEAST_TOKENS && bodies.length < MANY_SECTIONS;
  const isBareOfMuch = isAllBare && words * LEAST_SHARE <= spanTokens;
  if (!isPlain && !(isShort && (isBareOfMuch || hasMore()))) return [];
  const detail = `The answer says next to nothing of the ${spanTokens} tokens that it replaces. Write down what they tell.`;
  return [{ kind: "hollow", detail }];
}

/** Says what a draft names without a source. */
export function unfoundedProblem(unfounded: readonly string[]): string {
  const named = unfounded.map((each) => `"${each}"`).join(", ");
  return `These stand nowhere in what you were shown: ${named}. Write each as it stands there, or leave it out.`;
}
