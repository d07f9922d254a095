/**
 * Finds what a summary must not lose of a user's words, which are rules, prohibitions and preferences.
 *
 * Text in, slices of that text out. It is safe on hostile input, because each pattern runs on one sentence of bounded
 * length.
 */
import { forbids, plainly } from "./prohibitions.ts";
import { splitStatements, type Sentence } from "../../steps/text/sentences.ts";

/** A rule longer than this, in characters, is cut back to the clause that states it. */
const MAX_CONSTRAINT = 400;

/** What happened after, within or without something is no wish. */
const NOT_REPORTED =
  "(?<!(?<!\\b(?:be|want|need|get|have) (?:\\w+ ){0,2})\\b(?:crashed|finished|failed|passed|ran|took|went|stopped|died|hung|broke|completed|succeeded|worked|exited|timed|rose|fell|grew|dropped|started|takes|lasts|runs|loads?|was|were|had|starts|begins|is(?= (?:before|after))) (?:\\w+ ){0,2})";
/** An order or a wish that outlives its turn, in small letters. prohibitions.ts has the patterns that forbid. */
const WISHES: readonly RegExp[] = [
  /\balways\b(?! (?:fails?|failed|crash(?:es|ed)?|seems?|had|has|is|was|were|been|gets?|returns?|returned|throws?|happens?|shows?|the case)\b)/,
  /\bmust\b(?! (?:have (?!to\b)\w+(?:ed|en|t|ne)\b|have been|be (?:a|an|because|the|some\w+|close|tired|wrong|broken|missing|expired|stuck|mistaken|kidding|joking|(?:in|at) the)\b|admit|say))(?<!\b(?:he|she) must)/,
  /\b(?:i|we|you|it|they)(?:'d| would)?(?: strongly| much)? (?:prefer|rather)\b|\bpreferabl[ey]\b|\bmy preference\b/,
  /\b(?:use|do|make|put|let'?s|want|go with|call|have|take|keep|give)\b.{0,80}\b(?:instead|rather than|by default)\b/,
  /(?:^|\b(?:we|please|always) )use (?:[\w.@/-]+ ){0,3}(?!(?:is|are|was|were|do|does|did|can|could|will) )[\w.@/-]+,? not [\w.@/-]+[.!]*$|^[\w-]+, not [\w-]+[.!]*$/,
  /(?<!\b(?:is|are|was|were|ha[sd]|have|saw) )\bonly (?:use|run|do|if|when|want|need|fly|book|change|touch|edit|allow|consider|accept|after|with|for|in|the|one|a)\b|^(?!(?:i|we|it|s?he|they|the\w*|this|that|an?) ).* only[.!]*$|\b(?:i|we) only (?!have|had|saw|see|got|get|know|found|\w+ed\b)|^only\b/,
  /(?<!\bi(?:'ll| will) )\b(?:make|be) sure\b(?! to find)|\bensure\b|\bavoid\b|\bstick (?:to|with)\b|^(?:please,? )?(?:stay (?:within|inside)|work exclusively|(?:limit|restrict|confine) (?:your|all|any|every|edits|changes|the ))|\bkeep (?:this|it|that) (?:between us|to yourself|secret|private)\b|\bas long as\b|\bit is (?:important|essential|critical) (?:that|to)\b|(?<!\bis )\brequire(?:d?\b|ments?:)|\bunless\b/,
  new RegExp(
    `\\b(?=[abilmnuw])${NOT_REPORTED}(?:at most|at least|no more than|no less than|no later than|no earlier than|less than|under|up to|within|max(?:imum)?\\.?|minimum|before|after) [$€£]?\\d`,
  ),
  /\bfrom (?:now|here) on\b|\bgoing forward\b|\b(?:remember|don'?t forget) (?:to|that)\b|\bkeep in mind\b|\bno need (?:to|for)\b/,
  new RegExp(`\\b(?=without)${NOT_REPORTED}without (?:any|a|using|changing|breaking|touching|asking|adding|doing)\\b`),
  /\b(?:i|we)(?:'d like| want| need)(?: it| them| this| you| everything| all| the \w+)? to (?:be|have|use|keep|stay|not|always)\b/,
];
/** Scripts that may write a sentence without a blank. */
export const DENSE_SCRIPT = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
/** Prose may begin with "import", "return" or "at", and may contain an arrow or an emphasis tag. */
const CODE =
  /^\s*(?:at \S+ \(|at \S+:\d|import (?:type )?(?:[*{"']|\w+,? (?:\{|from ["']))|(?:const|let|var) [\w{[]+.{0,40}=|return\b.*;$|\/\/|<\/?(?!(?:b|i|u|p|li|em|strong|h\d|[\w-]*(?:rules?|instructions?|constraints?|guidelines?|important|critical))>)\w)|\) ?=>|=> ?[{([]|\b\w+ ?=> ?\w+[.(]/;
/** An error, a line of a log or the footer of a mail, which a program wrote. */
const PRINTED =
  /^(?:Caused by: )?(?:[\w.$]+(?:Error|Exception|Warning)|(?:npm ERR!|Error|error|fatal|panic)(?: \S+)?)(?: \[\w+\])?: |^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S* )?.{0,24}(?<![\w-])(?:ERROR|WARN|INFO|DEBUG|TRACE|FATAL)\]?(?::|\s+\S+ .*:)|^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S* .{0,24}\b(?:error|warn(?:ing)?|info|debug|trace|fatal|ERROR|WARN|INFO|DEBUG)\b|intended recipient|print this e-?mail/;
/** A single request is not a rule, and neither is a question about a rule. */
const QUESTION = /(?<!, (?:ok|okay|alright|please|understood))\?["')\]]*$/i;
/** A question that asks to leave something undone. */
const ASKS_NOT =
  /^(?:please,? )?(?:(?:can|could|would|will) you|mind not|(?:kannst|könntest|würdest) du|(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous|pued[eo]s|podrías|puoi|potresti)(?!\p{L})/iu;
const FIRM = /\b(?:never|must|do not|don'?t (?:want|use|do|add|touch|change)|prefer|make sure)\b/i;
const ASKED = /^(?:why|what|how|when|where|which|who|did|does|do you|is|are|was|were|can i|could i|should i|am i)\b/i;

/**
 * The sentences of a user's message that state a rule, a prohibition or a preference, verbatim and in order. Headings
 * and table cells count too. Fenced code is skipped, because it is not the user's words. A sentence of over 400
 * characters is cut back to the clauses that state one, and a list stays with the rule above it.
 */
export function extractConstraints(userText: string): string[] {
  return [...new Set(splitStatements(userText).flatMap(constraintsOf))];
}

/** Like {@link constraintsIn}. A rule that ends in a colon takes its list, unless each item of that is a rule itself. */
export function constraintsOf({ text, withList }: Sentence): string[] {
  const [, ...items] = withList?.trim().split(/\s*\n\s*/) ?? [];
  const whole = constraintsIn(text);
  // Lines that are only a rule by themselves were joined by mistake.
  const isJoined = whole.length === 0 && text.includes("\n");
  const found = isJoined ? text.split("\n").flatMap((line) => constraintsIn(line.trim())) : whole;
  return withList === undefined || found.length === 0 || items.every(isRule) ? found : [withList];
}

/** The sentence if it states a rule. For a sentence that is too long, the clauses that do. */
function constraintsIn(sentence: string): string[] {
  if (sentence.length <= MAX_CONSTRAINT) return isRule(sentence) ? [sentence] : [];
  const clauses = sentence.split(/(?<=[,;]) |(?<=[，；、])/);
  return clauses.flatMap((clause) =>
    (clause.length <= MAX_CONSTRAINT ? [clause] : surroundings(clause)).filter(isRule),
  );
}

/** Whether a sentence of a user states a rule, a prohibition or a preference. */
export function isRule(sentence: string): boolean {
  const said = plainly(sentence).replaceAll(/\s+/g, " ");
  const enough = DENSE_SCRIPT.test(said) ? said.length >= 4 : said.length >= 8 && said.includes(" ");
  if (!enough || looksLikeData(said) || PRINTED.test(said)) return false;
  if (QUESTION.test(said) && (ASKED.test(said) || !FIRM.test(said))) return ASKS_NOT.test(said) && forbids(said);
  if (forbids(said)) return true;
  const small = said.toLowerCase();
  return WISHES.some((wish) => wish.test(small));
}

/** Detects program text and logs by few letters among the signs, or by the marks of a statement, a tag or a stack frame. */
export function looksLikeData(sentence: string): boolean {
  const letters = sentence.replaceAll(/[^\p{L} ]/gu, "").length;
  return letters < sentence.length * 0.6 || CODE.test(sentence) || (sentence.endsWith(");") && /\w\(/.test(sentence));
}

/** The pieces of a long clause that state a rule, each with the piece before and after it, cut between words. */
function surroundings(clause: string): string[] {
  const pieces = clause.match(/.{1,130}(?: |$)|.{130}/gs) ?? [];
  const found: string[] = [];
  for (let at = 0; at < pieces.length; at++) {
    if (!isRule(pieces[at] ?? "")) continue;
    found.push(
      pieces
        .slice(Math.max(0, at - 1), at + 2)
        .join("")
        .trim(),
    );
    at++;
  }
  return found;
}
