/**
 * The ledger of what a user ruled: which rules stand after a later one was said.
 *
 * Boundary: sentences of users only; nothing that a tool or a model wrote comes here. Safe because it errs towards
 * keeping: a rule goes only when a later sentence of a user revokes it in so many words, and that sentence stays in its
 * place. Everything less clear keeps both, the later one last, where a reader sees that it wins.
 *
 * A later sentence revokes an earlier one when
 *   1. it permits ("you may now …"), names nothing but what the earlier prohibition names, and most of that; or
 *   2. it takes back ("forget what I said about …") and names all that the earlier rule is about, and nothing else; or
 *   3. it corrects ("actually …", "… instead of x") a rule that is no prohibition, and shares half of the words, or x.
 * A question, a condition or any clause more makes it unclear; so does a rule of several parts, unless a sentence of the
 * first two kinds names all of it. And it must be the user's own: see {@link findRules}.
 */
import { MAX_RULE_CHARS } from "../../limits.ts";
import { constraintsIn } from "../facts/facts.ts";
import { prohibits } from "../facts/prohibitions.ts";
import { splitStatements, type Sentence } from "../text/sentences.ts";

/** What a user said that bears on the rules, word for word. */
export interface Ruling {
  readonly text: string;
  /** It may take back what was ruled before: it revises, and is plainly the user's own. */
  readonly revises: boolean;
}

const LEAD = "^(?:(?:ok|okay|alright|fine|sure|yes|actually|well|so|and|now|also|please|then)[,:.]?\\s+){0,3}";
const PERMITS = new RegExp(
  `${LEAD}(?:you|we) (?:may|can|could|are (?:allowed|free|welcome) to|have (?:my )?permission to)( now| again| also)* `,
  "i",
);
/** "You can" tells what is possible as often as what is permitted. */
const AFTER_ALL = /\b(?:may|allowed|free|permission|now|again|any ?more|any longer|after all)\b/i;
const TAKES_BACK = new RegExp(
  `${LEAD}(?:forget|ignore|disregard|drop|scrap|scratch) (?:(?:everything |all |anything )?(?:that |what )?i(?: had| have|['’]ve)? (?:said|told you|asked|ruled)(?: you)?|(?:the|my|that) (?:rule|order|instruction|prohibition|ban)s?)(?: (?:earlier|before))? (?:about|on|regarding|against|of) `,
  "i",
);
const CORRECTS = new RegExp(
  `${LEAD}(?:on second thought|i changed my mind|i(?:['’]ve| have) changed my mind|correction|scratch that)\\b|^(?:no|ok|okay|well)?[, ]*actually\\b`,
  "i",
);
const INSTEAD_OF =
  /\b(?:instead of|rather than|no longer)\s+(?:using |doing |the )?([\w./@-]{2,40}(?: [\w./@-]{2,40})?)/i;
/** Limits what it stands in, to a case, a time or a condition. */
const UNCLEAR =
  /\b(?:if|unless|except|but|only|until|till|when|once|after|before|while|not|no|nothing|never|without|provided|providing|assuming|given|suppos\w+|as long|so long|on condition|in case|subject to|with|under|for now|for today|today|this time|just|here|there|some|one)\b|n['’]t\b|[?"“”«»`]/i;
/** A sentence that takes back, or limits, the one that it follows. */
const QUALIFIES =
  /^(?:[("'*_\s]*)(?:only|but|if|unless|except|not|no|just|provided|providing|assuming|as long|with|after|until|however|though|kidding|joking|wait)\b/i;
/** All that may follow what a lift names. */
const COURTESY = /^[\s.!,;–—-]*(?:(?:thanks|thank you|please|thx|ok|okay)[\s.!]*)*$/i;
/** What follows a colon, a salutation or a quotation mark may be somebody else's. */
const OPENS_QUOTE = /["“”„«»`]|:(?:\s|$)|,$/;
/** The verb of a rule stands behind one of these. */
const BEFORE_VERB = /\b(?:never|not|don['’]?t|always|please|to|must)\s+(?:ever\s+)?([\p{L}]+)/iu;
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
/** Of the shorter one's words, those that a correction must have in common with a wish: the other half is what changes. */
const CORRECTED_SHARE = 0.5;

/**
 * The sentences of a user's text that rule, permit or take back, in order. Only one of the running prose that the text
 * begins with, on its first line and with nothing before it that may open a quotation, revises: what stands further
 * down may be pasted. Of what is marked as quoted, only rules are found.
 */
export function findRules(userText: string): Ruling[] {
  const found = new Map<string, Ruling>();
  const sentences = splitStatements(userText);
  let own = true;
  sentences.forEach((sentence, at) => {
    const { text } = sentence;
    own &&= sentence.plain;
    const said = own && revokes(text) ? [text] : constraintsIn(text);
    const revises = own && sentence.line === sentences[0]?.line && !isQualified(sentence, sentences[at + 1]);
    for (const each of said) {
      const ruling = { text: each, revises: revises && readRevision(each) !== null };
      found.set(`${ruling.revises} ${each}`, ruling);
    }
    own &&= !OPENS_QUOTE.test(text);
  });
  return [...found.values()];
}

/** True when what follows may belong to the sentence, or limit it. */
function isQualified({ text, line }: Sentence, next: Sentence | undefined): boolean {
  if (next === undefined) return false;
  return QUALIFIES.test(next.text) || (next.line !== line && !/[.!。！]$/.test(text) && /^\p{Ll}/u.test(next.text));
}

/**
 * What `later` takes back of what a user ruled before it: a question to ask each earlier rule, or null when `later`
 * revises nothing.
 */
export function readRevision(later: string): ((earlier: string) => boolean) | null {
  if (later.length > MAX_RULE_CHARS || later.includes("?")) return null;
  const permitted = AFTER_ALL.test(later) ? subjectAfter(PERMITS, later) : null;
  if (permitted !== null) {
    return (earlier) => {
      const ruled = wordsOf(earlier);
      const share = SEVERAL_PARTS.test(earlier) ? 1 : PERMITTED_SHARE;
      return prohibits(earlier) && covers(permitted, ruled) && permitted.size / ruled.size >= share;
    };
  }
  const taken = subjectAfter(TAKES_BACK, later);
  if (taken !== null) return (earlier) => isAbout(taken, earlier);
  const given = wordsOf(INSTEAD_OF.exec(later)?.[1] ?? "");
  const corrected = CORRECTS.test(later) ? wordsOf(later) : null;
  if (given.size === 0 && corrected === null) return null;
  return (earlier) => {
    if (prohibits(earlier) || SEVERAL_PARTS.test(earlier)) return false;
    const ruled = wordsOf(earlier);
    return covers(given, ruled) || (corrected !== null && shared(corrected, ruled) >= CORRECTED_SHARE);
  };
}

function revokes(sentence: string): boolean {
  if (sentence.length > MAX_RULE_CHARS || sentence.includes("?")) return false;
  return TAKES_BACK.test(sentence) || (PERMITS.test(sentence) && AFTER_ALL.test(sentence));
}

/** What the clause after the pattern names; null when it is not there, or anything more is said. */
function subjectAfter(pattern: RegExp, sentence: string): ReadonlySet<string> | null {
  const match = pattern.exec(sentence);
  if (match === null) return null;
  const rest = sentence.slice(match[0].length);
  const clause = /^(?:[^,;:!(–—\s]|\s(?!-\s))*/u.exec(rest)?.[0] ?? "";
  return UNCLEAR.test(rest) || !COURTESY.test(rest.slice(clause.length)) ? null : wordsOf(clause);
}

/** True when every word is one of the rule's. "Tables" is said for "table", which it includes, but no other form. */
function covers(subject: ReadonlySet<string>, ruled: ReadonlySet<string>): boolean {
  return subject.size > 0 && [...subject].every((word) => ruled.has(word) || ruled.has(word.replace(/s$/, "")));
}

/** True when the subject names all that a rule is about, but for the verb, and nothing else but that. */
function isAbout(subject: ReadonlySet<string>, rule: string): boolean {
  const verb = BEFORE_VERB.exec(rule.toLowerCase())?.[1] ?? "";
  const object = new Set([...wordsOf(rule)].filter((word) => word !== verb));
  const named = new Set([...subject].filter((word) => !isFormOf(word, verb)));
  return covers(named, object) && named.size === object.size;
}

/** True for "run", "running" and "running" without its doubled letter. */
function isFormOf(word: string, verb: string): boolean {
  if (verb === "") return false;
  const stemOfVerb = verb.replace(/e$/, "");
  return word === verb || word === `${stemOfVerb}ing` || word === `${stemOfVerb}${stemOfVerb.at(-1)}ing`;
}

/** Share of the smaller set that is in the other. */
function shared(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const least = Math.min(one.size, other.size);
  return least === 0 ? 0 : [...one].filter((word) => other.has(word)).length / least;
}

/** Words with a meaning of their own, without endings that do not change it: near enough to tell what a text is about. */
export function contentWords(text: string): Set<string> {
  return new Set([...wordsOf(text)].map(stem));
}

function wordsOf(text: string): Set<string> {
  const words = text
    .toLowerCase()
    .replaceAll(/['’]/g, "")
    .split(/[^\p{L}\p{N}_$./@-]+/u)
    .slice(0, MAX_WORDS)
    .map((word) => word.replaceAll(/^[./@-]+|[./@-]+$/g, ""));
  return new Set(words.filter((word) => word !== "" && !EMPTY_WORDS.has(word)));
}

function stem(word: string): string {
  const bare = word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, "") : word.replace(/s$/, "");
  return bare.replace(/([^aeiou])\1$/, "$1");
}
