/**
 * The ledger of what a user ruled: which rules stand after a later one was said.
 *
 * Boundary: sentences of users only; nothing that a tool or a model wrote comes here. Safe because it errs towards
 * keeping: a rule goes only when a later sentence of a user revokes it in so many words, and that sentence stays in its
 * place. Everything less clear keeps both, the later one last, where a reader sees that it wins.
 *
 * A later sentence revokes an earlier one when
 *   1. it permits ("you may now …"), names nothing but what the earlier prohibition names, and most of that; or
 *   2. it takes back ("forget what I said about …") and names nothing but what the earlier rule names, and most of that; or
 *   3. it corrects ("actually …", "… instead of x") a rule that is no prohibition, and shares half of the words, or x.
 * A question, or a condition ("only if …", "unless", "except"), makes it unclear; so does a rule of several parts, unless
 * a sentence of the first two kinds names all of it.
 */
import { MAX_RULE_CHARS } from "../../limits.ts";
import { extractConstraints } from "../facts.ts";
import { splitSentences } from "../sentences.ts";

const LEAD = "^(?:(?:ok|okay|alright|fine|sure|yes|actually|well|so|and|now|also|please|then)[,:.]?\\s+){0,3}";
const PERMITS = new RegExp(
  `${LEAD}(?:you|we) (?:may|can|could|are (?:allowed|free|welcome) to|have (?:my )?permission to)( now| again| also)* `,
  "i",
);
/** "You can" tells what is possible as often as what is permitted. */
const AFTER_ALL = /\b(?:may|allowed|free|permission|now|again|any ?more|any longer|after all)\b/i;
const TAKES_BACK = new RegExp(
  `${LEAD}(?:forget|ignore|disregard|drop|scrap|scratch)\\b(?: (?:everything|what|all|the rule|the rules|my rule|the order|that))*(?: i(?: had| have|['’]ve)? (?:said|told you|asked))?(?: (?:earlier|before))? (?:about|on|regarding) `,
  "i",
);
const CORRECTS = new RegExp(
  `${LEAD}(?:on second thought|i changed my mind|i(?:['’]ve| have) changed my mind|correction|scratch that)\\b|^(?:no|ok|okay|well)?[, ]*actually\\b`,
  "i",
);
const INSTEAD_OF =
  /\b(?:instead of|rather than|no longer)\s+(?:using |doing |the )?([\w./@-]{2,40}(?: [\w./@-]{2,40})?)/i;
const PROHIBITS =
  /\b(?:never|not|cannot|avoid|without|forbidden|prohibited|off limits|no longer|stop|under no circumstances|don['’]?t|won['’]?t|can['’]?t|mustn['’]?t|shouldn['’]?t|no (?:more|need|other)|only|leave .{1,40} alone|hands off)\b|n['’]t\b/i;
const UNCLEAR = /\b(?:if|unless|except|but|only|until|when|once|after|before|not|never|without)\b|n['’]t\b|\?/i;
const SEVERAL_PARTS = /\b(?:and|or|nor)\b|[,;:&]/i;
/** Words that a clause may hold without being about something else. */
const EMPTY_WORDS = new Set(
  `a an and any anymore again after all also are at be by can could do does for from forget free have here i if in into
  is it its just let like longer make may me must my never no not now of off ok on only or our out please should so
  some sure than that the their them then there these they this those to too us use used using want was we well were
  will with would you your allowed permission said what about earlier before everything always actually instead dont
  rule rules from going forward ever`.split(/\s+/),
);
/** Words of one sentence that are looked at: a rule is short. */
const MAX_WORDS = 80;
/** Of a prohibition's words, those that a permission must name: one of four may be a reason for it. */
const PERMITTED_SHARE = 0.75;
/** The same for taking back what was said "about" something, which names the thing but not what was to be done. */
const TAKEN_BACK_SHARE = 0.6;
/** Of the shorter one's words, those that a correction must have in common with a wish: the other half is what changes. */
const CORRECTED_SHARE = 0.5;

/** The sentences of a user's text that rule, permit or take back, word for word and in order. */
export function findRules(userText: string): string[] {
  const found = splitSentences(userText).flatMap(({ text }) => (revokes(text) ? [text] : extractConstraints(text)));
  return [...new Set(found)];
}

/** True when the sentence forbids something: what must survive before any preference. */
export function prohibits(rule: string): boolean {
  return PROHIBITS.test(rule);
}

/**
 * What `later` takes back of what a user ruled before it: a question to ask each earlier rule, or null when `later`
 * revises nothing.
 */
export function readRevision(later: string): ((earlier: string) => boolean) | null {
  if (later.length > MAX_RULE_CHARS || later.includes("?")) return null;
  const permitted = AFTER_ALL.test(later) ? subjectAfter(PERMITS, later) : null;
  if (permitted !== null) return (earlier) => prohibits(earlier) && names(permitted, earlier, PERMITTED_SHARE);
  const taken = subjectAfter(TAKES_BACK, later);
  if (taken !== null) return (earlier) => names(taken, earlier, TAKEN_BACK_SHARE);
  const given = contentWords(INSTEAD_OF.exec(later)?.[1] ?? "");
  const corrected = CORRECTS.test(later) ? contentWords(later) : null;
  if (given.size === 0 && corrected === null) return null;
  return (earlier) => {
    if (prohibits(earlier) || SEVERAL_PARTS.test(earlier)) return false;
    const ruled = contentWords(earlier);
    return covers(given, ruled) || (corrected !== null && shared(corrected, ruled) >= CORRECTED_SHARE);
  };
}

function revokes(sentence: string): boolean {
  if (sentence.length > MAX_RULE_CHARS || sentence.includes("?")) return false;
  return TAKES_BACK.test(sentence) || (PERMITS.test(sentence) && AFTER_ALL.test(sentence));
}

/** What the clause after the pattern names; null when it is not there, or what follows limits it. */
function subjectAfter(pattern: RegExp, sentence: string): ReadonlySet<string> | null {
  const match = pattern.exec(sentence);
  if (match === null || UNCLEAR.test(sentence.slice(match[0].length))) return null;
  const [clause = ""] = sentence.slice(match[0].length).split(/[,;:!]|\s[-–—]\s/);
  return contentWords(clause);
}

/** True when `subject` names nothing but what the rule does, and at least `share` of it. */
function names(subject: ReadonlySet<string>, rule: string, share: number): boolean {
  const ruled = contentWords(rule);
  return covers(subject, ruled) && subject.size / ruled.size >= (SEVERAL_PARTS.test(rule) ? 1 : share);
}

function covers(subject: ReadonlySet<string>, ruled: ReadonlySet<string>): boolean {
  return subject.size > 0 && [...subject].every((word) => ruled.has(word));
}

/** Share of the smaller set that is in the other. */
function shared(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const least = Math.min(one.size, other.size);
  return least === 0 ? 0 : [...one].filter((word) => other.has(word)).length / least;
}

/** Words with a meaning of their own, without endings that do not change it. */
export function contentWords(text: string): Set<string> {
  const words = text
    .toLowerCase()
    .replaceAll(/['’]/g, "")
    .split(/[^\p{L}\p{N}_$./@-]+/u)
    .slice(0, MAX_WORDS)
    .map((word) => word.replaceAll(/^[./@-]+|[./@-]+$/g, ""));
  return new Set(words.filter((word) => word !== "" && !EMPTY_WORDS.has(word)).map(stem));
}

function stem(word: string): string {
  const bare = word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, "") : word.replace(/s$/, "");
  return bare.replace(/([^aeiou])\1$/, "$1");
}
