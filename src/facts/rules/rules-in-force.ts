/**
 * Decides which of a user's rules stay in force after a later statement.
 *
 * It reads sentences of users only, never text of a tool or a model. It is safe because it errs towards keeping. A rule
 * is removed only when a later sentence of a user explicitly revokes it, and that sentence keeps its place. In any
 * unclear case both stay, the later one last, so that a reader sees which one wins. So a sentence that lifts something stays, too, where it
 * is not plain what it lifts.
 *
 * A later sentence revokes an earlier one in three cases:
 * 1. It permits ("you may now …"), names only things that the earlier prohibition names, and names most of them.
 * 2. It takes back ("forget what I said about …") and names exactly the things that the earlier rule is about.
 * 3. It orders something else ("actually, use …", "use … instead of x") than a rule that is no prohibition, and shares half
 *    of the words, or x and all that follows x.
 *
 * A question, a condition, a limit or a further clause makes it unclear, and so does a word about who said or printed it. So does a rule of several parts, unless a sentence of
 * the first two kinds names all of them. The sentence must also be the user's own, as {@link findRules} checks.
 */
import { MAX_RULE_CHARS } from "../../limits.ts";
import { constraintsOf } from "./constraints.ts";
import { prohibits } from "./prohibitions.ts";
import { splitStatements, type Sentence } from "../../steps/text/sentences.ts";

/** A statement of a user that affects the rules, word for word. */
export interface Ruling {
  readonly text: string;
  /** True when it may take back earlier rules, because it revises and is plainly the user's own text. */
  readonly revises: boolean;
}

const LEAD = "^(?:(?:ok|okay|alright|fine|sure|yes|actually|well|so|and|now|also|please|then)[,:.]?\\s+){0,3}";
const PERMITS = new RegExp(
  `${LEAD}(?:you|we)(?: may| can| could|(?: are|['’]re) (?:allowed|free|welcome) to|have (?:my )?permission to)( now| again| also)* `,
  "i",
);
/** Says in small letters that a rule holds no more, in words that do not tell surely which rule. Such a sentence stands beside the rules and removes none. */
const LIFTS = new RegExp(
  [
    String.raw`${LEAD}\w+ing (?:\S+ )+?(?:is|are) (?:fine|ok|okay|safe) (?:now|again)[.! ]*$|\b(?:allowed|permitted|fair game) (?:now|again)\b`,
    String.raw`\b(?:it(?:['’]?s| is)|you(?:['’]?re| are)|feel)(?: now| again)? (?:fine|ok|okay|safe|allowed|permitted|free|welcome) to (?!s(?:ee|ay)\b).*\b(?:now|again)\b`,
    String.raw`\b(?:rules?|bans?|freeze|instructions?)\b.{0,80}\b(?:(?:is|are)(?: now)? (?:lifted|over)|(?:no longer|not|n['’]t) (?:appl(?:y|ies)|holds?|counts?|valid|in force))\b`,
    String.raw`\b(?:lift(?:ing)?|take back|never ?mind|forget|ignore|scratch|drop|disregard) (?:about )?(?:(?:the|my|that|this|your)(?: (?:\w+ )?(?:earlier|previous|old|last|first))?(?: code)? (?:rules?|bans?|freeze|instructions?)\b(?! (?:file|page|folder|section|output|doc))|(?:everything |all |anything )?(?:that |what )?i(?:['’]ve| have)? (?:said|told)\b)`,
    String.raw`(?<!then )\byou no longer (?:have|need) to\b|\byou (?:don['’]t|do not|needn['’]t) (?:have|need) to\b.*\b(?:any ?more|any longer)\b`,
    String.raw`^(?:ok|okay|actually|on second thought|i changed my mind)[,:]? you (?:can|may) (?!(?:also|see|find|tell|start|begin|go|continue|proceed|stop|close|check|look|read)\b)`,
    String.raw`^(?:actually|on second thought)[,:]? (?:it(?:['’]?s| is) (?:fine|ok|okay|allowed) to|\w+ing .*(?:is|are) (?:fine|ok|okay|allowed))\b`,
    String.raw`(?<!\p{L})(?:(?:du|ihr) (?:darfst|dürft)|(?:du|ihr) (?:kannst|könnt)(?=.* wieder)|tu peux|vous pouvez|puedes|podéis|puoi|potete|podes?) (?!(?:ahora |maintenant |ora |agora )?(?:commencer|continuer|voir|empezar|seguir|ver|iniziare|continuare|vedere|começar)\b).{0,60}(?<!\p{L})(?:jetzt|wieder|maintenant|désormais|(?:à|de) nouveau|ahora|de nuevo|ora|adesso|di nuovo|agora)(?!\p{L})`,
    String.raw`^(?:vergiss|oublie|olvida|dimentica|esquece)(?!\p{L}).*(?<!\p{L})(?:regeln?|verbot|gesagt|règles?|dit|reglas?|dije|regol[ae]|detto|regras?|disse)(?!\p{L})`,
    "(?:现在|以后|今後).*(?:可以(?!开始|继续|看|再)|てもいい|て(?:も)?大丈夫)",
  ].join("|"),
  "u",
);
/** "We can … again" may be an order or news, and "You can now …" the last line of an installer. */
const TELLS = new RegExp(`${LEAD}(?:we|you can now) `, "i");
/** "You can" alone often tells a possibility, so a permission needs one of these words. */
const AFTER_ALL = /\b(?:may|allowed|free|permission|now|again|any ?more|any longer|after all)\b/i;
const TAKES_BACK = new RegExp(
  `${LEAD}(?:forget|ignore|disregard|drop|scrap|scratch) (?:(?:everything |all |anything )?(?:that |what )?i(?: had| have|['’]ve)? (?:said|told you|asked|ruled)(?: you)?|(?:the|my|that) (?:rule|order|instruction|prohibition|ban)s?)(?: (?:earlier|before))? (?:about|on|regarding|against|of) `,
  "i",
);
const CORRECTS = new RegExp(
  `${LEAD}(?:on second thought|i changed my mind|i(?:['’]ve| have) changed my mind|correction|scratch that)\\b|^(?:no|ok|okay|well)?[, ]*actually\\b`,
  "i",
);
/** What may stand before the verb of an order. An observation ("actually the tests …") corrects nothing. */
const ORDERS = new RegExp(
  `${LEAD}(?:(?:from now on|let['’]?s|always|only|just|i(?:['’]d| would| want| prefer| need)|use|do|make|put|go|call|have|take|keep|give|run|write|answer|set|send|add)\\b)`,
  "i",
);
/** A verb with the word that ties it to what it is about. */
const VERB_OF = /\b\w+ (?:in|with|as|to|by|at)\b/i;
const INSTEAD_OF = /\b(?:instead of|rather than)\s+(?:using |doing |the )?([\w./@-]{2,40}(?: [\w./@-]{2,40})?)/i;
/** Words that limit a sentence to a case, a time or a condition. */
const UNCLEAR =
  /\b(?:if|unless|except|but|only|until|till|when|once|after|before|because|since|while|not|no|nothing|never|without|provided|providing|assuming|given|suppos\w+|as long|so long|on condition|in case|subject to|with|under|for now|for today|today|this time|just|here|there|some|one|this|that|these|those|it|next)\b|n['’]t\b|[?"“”«»`]/i;
/** A sentence that takes back or limits the sentence before it. */
const QUALIFIES =
  /^(?:[("'*_\s]*)(?:only|but|if|unless|except|not|no|just|provided|providing|assuming|as long|with|after|until|however|though|kidding|joking|wait)\b/i;
/** A message with such a sentence may have pasted the others, or asks for something to be done with their words. */
const REPORTS =
  /\b(?:is|was|['’]s) what\b|\b(?:said|says|wrote|writes|told|sent|printed|prints|reads|logged|quoted?|pasted?|output|translate|proofread|grammar|spelling|wording|sounds?|rephrase|reword|phish\w*|spam|(?:e-?)?mails?|messages?|sentence|lines?|faq|automated)\b/i;
/** The end of a letter, which may be another one's. */
const SIGNED = /^[–—-]|^\p{Lu}[\p{L}.-]*(?: \p{Lu}[\p{L}.-]*)?$/u;
/** The only text allowed after the subject of a revocation. */
const COURTESY = /^[\s.!,;–—-]*(?:(?:thanks|thank you|please|thx|ok|okay)[\s.!]*)*$/i;
/** Text after a colon, a salutation or a quotation mark may be somebody else's. */
const OPENS_QUOTE = /["“”„«»`]|:(?:\s|$)|,$/;
/** The verb of a rule follows one of these. */
const BEFORE_VERB = /\b(?:never|not|don['’]?t|always|please|to|must)\s+(?:ever\s+)?([\p{L}]+)/iu;
const SEVERAL_PARTS = /\b(?:and|or|nor)\b|[,;:&]/i;
/** Words that do not change the subject of a clause. */
const EMPTY_WORDS = new Set(
  `a an and any anymore again after all also are at be by can could do does for from forget free have here i if in into
  is it its just let like longer make may me must my never no not now of off ok on only or our out please should so
  some sure than that the their them then there these they this those to too us use used using want was we well were
  will with would you your allowed permission said what about earlier before everything always actually instead dont
  rule rules from going forward ever`.split(/\s+/),
);
/** Words of one sentence that are examined. Rules are short. */
const MAX_WORDS = 80;
/** The share of a prohibition's words that a permission must name. One of four may be a reason for it. */
const PERMITTED_SHARE = 0.75;
/** The share of the shorter sentence's words that a correction must have in common with a wish. The rest is the change. */
const CORRECTED_SHARE = 0.5;

/**
 * The sentences of a user's text that rule, permit or take back, in order. A sentence may revise earlier rules only if
 * it is running prose on the first line of the text, after no mark that may open a quotation. Later text may be pasted.
 * In text marked as quoted, only rules are found.
 */
export function findRules(userText: string): Ruling[] {
  const found = new Map<string, Ruling>();
  const sentences = splitStatements(userText);
  const reports = sentences.map(({ text }) => REPORTS.test(text));
  const reported = reports.filter(Boolean).length;
  const signed = isSigned(sentences.at(-1), sentences[0]);
  let own = true;
  sentences.forEach((sentence, at) => {
    const { text } = sentence;
    own &&= sentence.plain;
    const said = own && (revokes(text) || readRevision(text) !== null) ? [text] : constraintsOf(sentence);
    const alone = reported === Number(reports[at]) && !isQualified(sentence, sentences[at + 1]);
    const revises = own && sentence.line === sentences[0]?.line && alone && !signed;
    for (const each of said) {
      const ruling = { text: each, revises: revises && readRevision(each) !== null };
      found.set(`${ruling.revises} ${each}`, ruling);
    }
    own &&= !OPENS_QUOTE.test(text);
  });
  return [...found.values()];
}

/** True when the last sentence is the name of its author. */
function isSigned({ text, line }: Partial<Sentence> = {}, first: Sentence | undefined): boolean {
  return (
    text !== undefined &&
    text !== first?.text &&
    (line !== first?.line || /^[–—-]/.test(text)) &&
    SIGNED.test(text) &&
    !COURTESY.test(text)
  );
}

/** True when the next sentence may belong to this one, or limit it. */
function isQualified({ text, line }: Sentence, next: Sentence | undefined): boolean {
  if (next === undefined) return false;
  return QUALIFIES.test(next.text) || (next.line !== line && !/[.!。！]$/.test(text) && /^\p{Ll}/u.test(next.text));
}

/** Returns a test whether `later` revokes an earlier rule of the same user. Null when `later` revises nothing. */
export function readRevision(later: string): ((earlier: string) => boolean) | null {
  if (later.length > MAX_RULE_CHARS || later.includes("?")) return null;
  const permitted = AFTER_ALL.test(later) && !TELLS.test(later) ? subjectAfter(PERMITS, later) : null;
  if (permitted !== null) {
    return (earlier) => {
      const ruled = wordsOf(earlier);
      const share = SEVERAL_PARTS.test(earlier) ? 1 : PERMITTED_SHARE;
      return prohibits(earlier) && covers(permitted, ruled) && permitted.size / ruled.size >= share;
    };
  }
  const taken = subjectAfter(TAKES_BACK, later);
  if (taken !== null) return (earlier) => isAbout(taken, earlier);
  return readCorrection(later);
}

/**
 * A limit of the later sentence, such as a place that the rule does not name, leaves the rule where it is not limited. So does an order that
 * says nothing else than the rule, or that only shares its verb: "call the hotel" does not correct "always call me Bob".
 */
function readCorrection(later: string): ((earlier: string) => boolean) | null {
  const lead = CORRECTS.exec(later)?.[0];
  const said = later.slice(lead?.length ?? 0).replace(/^[\s,:.–—-]+/, "");
  const ordered = ORDERS.exec(said)?.[0];
  if (UNCLEAR.test(said) || ordered === undefined) return null;
  const [instead = "", other = ""] = INSTEAD_OF.exec(said) ?? [];
  const given = wordsOf(other);
  const place = wordsOf(said.slice(said.indexOf(instead) + instead.length));
  if (given.size === 0 && lead === undefined) return null;
  const corrected = wordsOf(said);
  const tied = VERB_OF.exec(said)?.[0].toLowerCase();
  const verbs = wordsOf(ordered);
  return (earlier) => {
    if (prohibits(earlier) || SEVERAL_PARTS.test(earlier)) return false;
    const ruled = wordsOf(earlier);
    if (given.size > 0) return covers(given, ruled) && [...place].every((word) => ruled.has(word));
    const isTied = tied !== undefined && earlier.toLowerCase().includes(tied);
    const about = new Set([...corrected].filter((word) => isTied || !verbs.has(word)));
    return !covers(about, ruled) && shared(about, ruled) >= CORRECTED_SHARE;
  };
}

function revokes(sentence: string): boolean {
  if (sentence.length > MAX_RULE_CHARS || sentence.includes("?")) return false;
  return (
    TAKES_BACK.test(sentence) ||
    LIFTS.test(sentence.toLowerCase()) ||
    (PERMITS.test(sentence) && AFTER_ALL.test(sentence))
  );
}

/** The words of the clause after the pattern. Null when the pattern does not match, or when more text follows the clause. */
function subjectAfter(pattern: RegExp, sentence: string): ReadonlySet<string> | null {
  const match = pattern.exec(sentence);
  if (match === null) return null;
  const rest = sentence.slice(match[0].length);
  const clause = /^(?:[^,;:!(–—\s]|\s(?!-\s))*/u.exec(rest)?.[0] ?? "";
  return UNCLEAR.test(rest) || !COURTESY.test(rest.slice(clause.length)) ? null : wordsOf(clause);
}

/** True when every word is one of the rule's. The plural "tables" matches "table", but no other form does. */
function covers(subject: ReadonlySet<string>, ruled: ReadonlySet<string>): boolean {
  return subject.size > 0 && [...subject].every((word) => ruled.has(word) || ruled.has(word.replace(/s$/, "")));
}

/** True when the subject names exactly the words of a rule, without its verb. */
function isAbout(subject: ReadonlySet<string>, rule: string): boolean {
  const verb = BEFORE_VERB.exec(rule.toLowerCase())?.[1] ?? "";
  const object = new Set([...wordsOf(rule)].filter((word) => word !== verb));
  const named = new Set([...subject].filter((word) => !isFormOf(word, verb)));
  return covers(named, object) && named.size === object.size;
}

/** True for the verb itself and its "-ing" form, also with a doubled letter, as "run" and "running". */
function isFormOf(word: string, verb: string): boolean {
  if (verb === "") return false;
  const stemOfVerb = verb.replace(/e$/, "");
  return word === verb || word === `${stemOfVerb}ing` || word === `${stemOfVerb}${stemOfVerb.at(-1)}ing`;
}

/** The share of the smaller set that is in the other. */
function shared(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const least = Math.min(one.size, other.size);
  return least === 0 ? 0 : [...one].filter((word) => other.has(word)).length / least;
}

/** Content words without inflections, precise enough to compare the subjects of texts. */
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
