/**
 * Finds identifiers and quotations of an answer that stand nowhere in what the model was shown.
 *
 * Texts in, a list out. It looks at what a model cannot know without having read it: paths, addresses, ids, versions, long numbers, and
 * quoted sentences. Words, small numbers and sums are not judged.
 */
import { normalForm } from "../steps/text/text.ts";

/** Quoted pieces, which must be copies where they have a few words. Code is one too. Short ones are read as well, so that none opens at the end of another. */
const QUOTED =
  /`([^`\n]{1,200})`|"(?![\s.,;:!?)\]}…])([^"\n]{1,300})"|“([^”\n]{1,300})”|„([^“”\n]{1,300})[“”]|«([^»\n]{1,300})»|「([^」\n]{1,200})」/g;
const LEAST_WORDS = 4;
/** Letters of scripts in which names of files, ids and addresses are written. In others a name has no end. */
const LETTER = String.raw`\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}_`;
/** Pieces of a text that may name something. */
const PIECE = new RegExp(String.raw`[@$#]?[${LETTER}][${LETTER}@$#./:\\+~%&=?-]*`, "gu");
const MAX_PIECE = 300;
/** An address, a path, a mail address, an id with letters and digits, a version, a long number, a file. */
const NAMES = [
  /^[a-z][a-z+]*:\/\/\S+$/i,
  /^(?=.*[\d._~-]|(?:[^/]*\/){3})[\p{L}\p{N}_.@~+-]+(?:\/[\p{L}\p{N}_.@~+-]+){2,}$/u,
  /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/,
  /^(?=.*\d)(?=.*\p{L})[\p{L}\p{N}_-]{7,}$/u,
  /^[#$]?\d{5,}$/,
  /^v?\d+\.\d+\.\d+[\w.-]*$/i,
  /^[\p{L}\p{N}_-]+\.(?:[cm]?[jt]sx?|json|md|py|rs|go|java|rb|sql|ya?ml|toml|sh|css|html?|csv|txt|pdf)$/u,
];
/** What looks like one and is the writer's own: dates, times, measures, numbers before a word or behind one, and names of what runs scripts. */
const OWN = [
  /^(?:(?:19|20)\d\d([./-])\d{1,2}\1\d{1,2}(?:T[\d:.]+Z?)?|\d{1,2}([./-])\d{1,2}\2(?:19|20)\d\d|\d\d([./-])\d\d\3\d\d)$/,
  /^[\d.,:-]+(?:\/[\d.,:-]+)+$/,
  /^\d[\d.,]*\p{L}{1,6}$|^(?:\d+(?:d|h|min|m|sec|ms|s)){2,4}$/u,
  /^\d+[x-]\d+\p{L}*$/u,
  /^\d[\d.]*(?:-\p{L}+)+$/u,
  /^\p{Ll}+-?\d{1,2}$|^\p{L}+-\d{1,2}$|^\p{Ll}+-(?:19|20)\d{2}$/u,
  /^\p{Lu}\p{L}*\.js$/u,
];
/** A line and a column behind the name of a file. */
const PLACE = /:\d+(?:[:-]\d+)?$/;
/** Our own references, and the numbers of messages. */
const REFERENCE = /\[[^[\]\n]{0,4}(?:@[0-9a-z]{7}|#\d{1,9})[^[\]\n]*\]/g;
/** What a writer leaves out of a quotation, or puts into it. */
const GAP = /\s{0,9}(?:\[[^\]\n]{0,80}\]|\((?:…|\.{3})\)|…|\.{3})\s*/;
/** The address of a link in Markdown. */
const LINKED = /(?<=\]\()[^)\s]{1,500}/g;
/** Numbers with separators between their groups. */
const GROUPED = /\d{1,3}(?:[.,'’_\s\u00a0\u202f]\d{3})+(?!\d)/g;
/** More are not listed. */
const MOST = 12;
/** Most characters of the passage that a quotation with words left out was taken from, in its own length, and places that are tried. */
const PASSAGE = 4;
const MAX_TRIES = 200;

/**
 * The answer without the marks of quotations that leave words out and do not say so: what they say stands in one passage of `shown`, in
 * this order, with other words between. So nobody takes them for exact words, and the model need not be asked again.
 */
export function withoutLooseQuotes(answer: string, shown: string): string {
  let known: string | null = null;
  return answer.replaceAll(QUOTED, (written, ...groups) => {
    const quote = groups.slice(1, 6).find((each) => each !== undefined) as string | undefined;
    if (quote === undefined || !tells(quote) || quote.split(GAP).length > 1) return written;
    known ??= inWords(shown);
    const words = inWords(quote);
    return known.includes(words) || !standsLoosely(words.trim().split(" "), known) ? written : quote;
  });
}

/** The words of a text between single blanks, which also stand before the first and behind the last. */
function inWords(text: string): string {
  return ` ${flatten(text)
    .split(/[^\p{L}\p{M}\p{N}_]+/u)
    .filter((word) => word !== "")
    .join(" ")} `;
}

function standsLoosely(words: readonly string[], known: string): boolean {
  const [first = "", ...rest] = words.map((word) => ` ${word} `);
  const most = PASSAGE * words.join(" ").length;
  let from = known.indexOf(first);
  for (let tries = 0; from !== -1 && tries < MAX_TRIES; tries++) {
    const passage = known.slice(from, from + most);
    let at = 0;
    const follows = rest.every((word) => (at = passage.indexOf(word, at + 1)) !== -1);
    if (words.length >= LEAST_WORDS && follows) return true;
    from = known.indexOf(first, from + 1);
  }
  return false;
}

/** What of `answer` stands nowhere in `shown`, in order, each once. */
export function findUnfounded(answer: string, shown: string): string[] {
  const text = answer.replaceAll(REFERENCE, "");
  // An address behind the text of a link is known as well as the sentence around it.
  const known = `${flatten(shown)}\n${(shown.match(LINKED) ?? []).map(flatten).join("\n")}`;
  const numbers = new Set([...(shown.match(/\d{5,}/g) ?? []), ...(shown.match(GROUPED) ?? []).map(digitsOf)]);
  const isKnown = (piece: string): boolean => {
    if (/^[#$]?\d{5,}$/.test(piece)) return numbers.has(digitsOf(piece));
    const flat = flatten(piece);
    return known.includes(flat) || (/^v\d/.test(flat) && known.includes(flat.slice(1)));
  };
  // Other signs between the same words are no other words.
  let words: string | null = null;
  const isTold = (piece: string): boolean => tells(piece) && (words ??= inWords(shown)).includes(inWords(piece));
  const found = new Set<string>();
  for (const [, ...pieces] of text.matchAll(QUOTED)) {
    const quote = pieces.find((each) => each !== undefined) ?? "";
    const isCode = pieces[0] !== undefined;
    const stands = (piece: string): boolean => isKnown(withoutStops(piece)) || (!isCode && isTold(piece));
    if ((isCode ? isName(quote) : tells(quote)) && !quote.split(GAP).every(stands)) found.add(quote);
  }
  for (const [piece] of text.matchAll(PIECE)) {
    if (piece.length > MAX_PIECE) continue;
    const name = withoutStops(piece).replace(PLACE, "");
    if (isName(name) && !isKnown(name) && !isToldByParts(name, isKnown)) found.add(name);
  }
  return [...found].slice(0, MOST);
}

function isName(piece: string): boolean {
  return NAMES.some((name) => name.test(piece)) && !OWN.some((own) => own.test(piece));
}

/** Whether a quotation says enough to be judged. Scripts without blanks have more in a character. */
function tells(quote: string): boolean {
  const signs = quote.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu)?.length ?? 0;
  return signs >= 2 * LEAST_WORDS || quote.trim().split(/\s+/).length >= LEAST_WORDS;
}

/** A path may be told from another folder, so its parts stand apart, and a range or a joined name is made of names that stand there. */
function isToldByParts(name: string, isKnown: (piece: string) => boolean): boolean {
  if (name.includes("://")) return false;
  if (name.includes("/")) return name.split("/").every((each) => each === "" || isKnown(each));
  const parts = name.split("-").filter((each) => each !== "");
  return parts.length > 1 && parts.every((each) => !/\d/.test(each) || isKnown(each));
}

function withoutStops(text: string): string {
  return text.replace(/[^\p{L}\p{M}\p{N}_]{1,9}$/u, "");
}

function digitsOf(number: string): string {
  return number.replaceAll(/\D/g, "");
}

/** Texts are compared without case, marks and links of Markdown, escapes of JSON, kinds of dashes and the width of blanks. */
function flatten(text: string): string {
  return normalForm(text, "NFKC")
    .toLowerCase()
    .replaceAll(/\[([^\][]{0,200})\]\([^)\s]{0,500}\)/g, "$1")
    .replaceAll(/\\[nrt]/g, " ")
    .replaceAll(/[\\*_`"'“”„‘’«»]/g, "")
    .replaceAll(/[‐‑–—]/g, "-")
    .replaceAll(/\s+/g, " ")
    .trim();
}
