/**
 * Finds identifiers and quotations of an answer that stand nowhere in what the model was shown.
 *
 * Texts in, two lists out. It looks at what a model cannot know without having read it: paths, addresses, ids, versions, amounts, names in code
 * marks, and quoted sentences. An amount, a short id and a name in code marks may be told in another form. They are compared in one form, and
 * marked without asking for a repair, because a wrong alarm would cost a call.
 *
 * Not judged are words, small numbers, a path without the ending of a file (as "and/or"), amounts that follow from others in the answer, and
 * dates, which are worked out from the time of a message and told in any language.
 */
import { normalForm } from "../steps/text/text.ts";

/** Quoted pieces, which must be copies where they have a few words. Code is one too. Short ones are read as well, so that none opens at the end of another. */
const QUOTED =
  /`([^`\n]{1,200})`|"(?![\s.,;:!?)\]}…])([^"\n]{1,300})"|“([^”\n]{1,300})”|„([^“”\n]{1,300})[“”]|«([^»\n]{1,300})»|「([^」\n]{1,200})」|『([^』\n]{1,200})』|‘((?:[^’\n]|’(?=\p{L})){1,300})’|‚([^‘’\n]{1,300})[‘’]|(?<![\p{L}\p{N}])'(?=[\p{L}\p{N}])((?:[^'\n]|(?<=\p{L})'(?=\p{L})){1,300})'(?![\p{L}\p{N}])/gu;
/** One more than the marks of {@link QUOTED}. */
const QUOTE_FORMS = 10;
const LEAST_WORDS = 4;
/** Letters of scripts in which names of files, ids and addresses are written. In others a name has no end. */
const LETTER = String.raw`\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}_`;
/** Pieces of a text that may name something. */
const PIECE = new RegExp(String.raw`(?:(?<![${LETTER}.>)\]}/])~?/|[@$#])?[${LETTER}][${LETTER}@$#./:\\+~%&=?-]*`, "gu");
const MAX_PIECE = 300;
/** An address, a path, a mail address, an id with letters and digits, a version, a long number, a file. */
const NAMES = [
  /^[a-z][a-z\d+.-]*:\/\/\S+$/i,
  /^[a-z]:\\\S{2,}$/i,
  /^~?(?:\/[\p{L}\p{N}_.@~+-]+){2,}$/u,
  /^(?=.*[\d._~-]|(?:[^/]*\/){3})[\p{L}\p{N}_.@~+-]+(?:\/[\p{L}\p{N}_.@~+-]+){2,}$/u,
  /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/,
  /^(?=.*\d)(?=.*\p{L})[\p{L}\p{N}_-]{7,}$/u,
  /^[#$]?\d{5,}$/,
  /^v?\d+\.\d+\.\d+[\w.-]*$/i,
  /^(?:[\p{L}\p{N}_@.-]+\/)?[\p{L}\p{N}_-][\p{L}\p{N}_.-]*\.(?:[cm]?[jt]sx?|json[lc5]?|mdx?|rst|py|ipynb|rs|go|java|kts?|swift|rb|php|cs|cpp|hpp|vue|svelte|sql|prisma|proto|ya?ml|toml|ini|conf|env|lock|sh|ps1|bat|s?css|less|html?|xml|csv|tsv|txt|log|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|zip|gz|tar|wasm)$/iu,
];
/** What looks like one and is the writer's own: dates, times, measures, numbers before a word or behind one, and names of what runs scripts. */
const OWN = [
  /^(?:(?:19|20)\d\d([./-])\d{1,2}\1\d{1,2}(?:T[\d:.]+Z?)?|\d{1,2}([./-])\d{1,2}\2(?:19|20)\d\d|\d\d([./-])\d\d\3\d\d)$/,
  /^[\d.,:-]+(?:\/[\d.,:-]+)+$/,
  /^\d[\d.,]*\p{L}{1,6}$|^(?:\d+(?:d|h|min|m|sec|ms|s)){2,4}$/u,
  /^\d+[x-]\d+\p{L}*$/u,
  /^\d[\d.]*(?:-\p{L}+)+$/u,
  /^\p{Ll}+-?\d{1,2}$|^(?!\p{Lu}{2,10}-)\p{L}+-\d{1,2}$|^\p{Ll}+-(?:19|20)\d{2}$/u,
  /^\p{Lu}\p{L}*\.js$/u,
  /^\p{L}{1,6}\d{1,3}\p{L}?(?:-\p{Ll}+)+$/u,
  /^(?:COVID|UTF|UTC|GMT|SHA|AES|RSA|ISO|IEC|IEEE|RFC|DIN|EN|GPT|H)-?\d{1,5}$/,
];
/** A line and a column behind the name of a file. */
const PLACE = /:\d+(?:[:-]\d+)?$/;
/** Names and ids that are judged more mildly: a ticket, a short id of capitals and digits, the number of a request, and a name of capitals. */
const SHORT = [
  /^\p{Lu}[\p{Lu}\d]*(?:_[\p{Lu}\d]+)+$/u,
  /^\p{Lu}{2,10}-\d{1,6}$/u,
  /^(?=[^\d]*\d[^\d]*\d)(?=.*\p{Lu})[\p{Lu}\d]{4,6}$/u,
  /^#\d{2,4}$/,
];
/** A name in code marks with a sign that no word has: a capital within, a stroke, a dot or brackets. */
const CODE_NAME =
  /^(?=.*(?:[\p{Ll}\d]\p{Lu}|_|\.|\/|\(\)|::|^--))(?:--?)?[\p{L}_$@#./][\p{L}\p{N}_$.:#/@-]*(?:\(\))?$/u;
/** An amount of money, or a share with a decimal place. Other numbers may count something that was seen. */
const NUMBERS = String.raw`(\d[\d.,]{0,20}(?:[ \u00a0\u202f]\d{3}(?!\d)){0,4})`;
const CODES = "(?:USD|EUR|GBP|JPY|CHF|CNY|INR|PLN)";
const ALONE = String.raw`(?<![\d.,${LETTER}])`;
const AMOUNT = new RegExp(
  String.raw`(?:\p{Sc}|\b${CODES}[ \u00a0]?)${NUMBERS}|${ALONE}${NUMBERS}[ \u00a0]?(?:\p{Sc}|元|円|원|zł|${CODES}\b)|${ALONE}(\d{1,4}[.,]\d{1,4})[ \u00a0\u202f]?%`,
  "gu",
);
/** Our own references, and the numbers of messages. */
const REFERENCE = /\[[^[\]\n]{0,4}(?:@[0-9a-z]{7}|#\d{1,9})[^[\]\n]*\]/g;
/** What a writer leaves out of a quotation, or puts into it. */
const GAP = /\s{0,9}(?:\[[^\]\n]{0,80}\]|\((?:…|\.{3})\)|…|\.{3})\s*/;
/** The address of a link in Markdown. */
const LINKED = /(?<=\]\()[^)\s]{1,500}/g;
/** Numbers with separators between their groups. */
const GROUPED = /\d{1,3}(?:[.,'’_\s\u00a0\u202f]\d{3})+(?!\d)/g;
/** More are not listed. */
const MOST = 60;
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
    const quote = groups.slice(1, QUOTE_FORMS).find((each) => each !== undefined) as string | undefined;
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

/** What of an answer stands nowhere in what the model was shown, in order, each once. */
export interface Unfounded {
  readonly all: readonly string[];
  /** Those for which a repair is asked. The others are only marked. */
  readonly asked: readonly string[];
}

export function findUnfounded(answer: string, shown: string): Unfounded {
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
  const asked = new Set<string>();
  const marked = new Set<string>();
  for (const [, ...pieces] of text.matchAll(QUOTED)) {
    const quote = pieces.find((each) => each !== undefined) ?? "";
    const isCode = pieces[0] !== undefined;
    const stands = (piece: string): boolean => isKnown(withoutStops(piece)) || (!isCode && isTold(piece));
    if ((isCode ? isName(quote) : tells(quote)) && !quote.split(GAP).every(stands)) asked.add(quote);
    else if (isCode && isMildName(quote.replace(PLACE, ""), known)) marked.add(quote);
  }
  for (const [piece] of text.matchAll(PIECE)) {
    if (piece.length > MAX_PIECE) continue;
    const name = withoutStops(piece).replace(PLACE, "");
    if (isName(name)) {
      if (!isKnown(name) && !isToldByParts(name, known, isKnown)) asked.add(name);
    } else if (SHORT.some((form) => form.test(name)) && !OWN.some((own) => own.test(name)) && !hasNumberOf(name, known))
      marked.add(name);
  }
  for (const each of findAmounts(text, shown)) marked.add(each);
  const all = [...asked, ...[...marked].filter((each) => !asked.has(each))];
  return { all: all.slice(0, MOST), asked: [...asked].slice(0, MOST) };
}

function isMildName(name: string, known: string): boolean {
  return CODE_NAME.test(name) && !OWN.some((own) => own.test(name)) && !isCodeTold(name, known);
}

/** Whether the parts of a name in code stand there, because it may be told with its class, its file or its brackets. */
function isCodeTold(name: string, known: string): boolean {
  const parts = name.split(/[.:#/()]+/).filter((part) => part !== "");
  return known.includes(flatten(name)) || parts.every((part) => known.includes(flatten(part)));
}

/** Whether a short id stands there: the number of a request as a number, another also without its stroke. */
function hasNumberOf(name: string, known: string): boolean {
  const form = flatten(name).replace("#", "").replace("-", "[- ]?");
  return new RegExp(String.raw`(?<![\p{L}\p{N}])${form}(?![\p{L}\p{N}])`, "u").test(known);
}

/** A written number by its value: the last separator with other than three digits behind it is that of decimals. */
function valueOf(written: string): number {
  const number = written.replace(/[.,]{1,21}$/, "");
  const decimals = decimalsOf(number);
  return Number(digitsOf(number)) / 10 ** decimals;
}

function decimalsOf(number: string): number {
  return /[.,](\d{1,2}|\d{4,})$/.exec(number)?.[1]?.length ?? 0;
}

/** No part of an address on a network. */
const NUMBER = /(?<![\d.])\d[\d,]*(?:\.[\d,]+){0,2}(?!\.?\d)/g;
/** Numbers of one line that are tried as the terms of a sum, and amounts that are read. */
const MOST_TERMS = 20;
const MOST_AMOUNTS = 60;

/** Amounts that stand nowhere, also not rounded, as a share of one or in the smaller unit, and that follow from no numbers in the same line. */
function findAmounts(text: string, shown: string): string[] {
  const amounts = text.split("\n").flatMap((line) => [...line.matchAll(AMOUNT)].map((found) => ({ line, found })));
  if (amounts.length === 0) return [];
  const numbers = [...(shown.match(NUMBER) ?? []), ...(shown.match(GROUPED) ?? [])];
  const values = numbers.flatMap((each) => [valueOf(each), Number(each.replaceAll(",", ""))]);
  const known = new Set(values.flatMap((value) => [value, ...[0, 1, 2].map((places) => round(value, places))]));
  return amounts.slice(0, MOST_AMOUNTS).flatMap(({ line, found: [amount, ...pieces] }) => {
    const [written = "", share] = [pieces.find((each) => each !== undefined), pieces[2]];
    const value = valueOf(written);
    const inUnit = round(share === undefined ? value * 100 : value / 100, 4);
    const terms = (line.match(NUMBER) ?? []).slice(0, MOST_TERMS).map(valueOf);
    const unit = 10 ** -decimalsOf(written.replace(/(?<![.,])[.,]+$/, ""));
    return known.has(value) || known.has(inUnit) || followsFrom(value, terms, unit)
      ? []
      : [amount.replace(/(?<![.,\s])[.,\s]+$/, "")];
  });
}

function round(value: number, places: number): number {
  return Math.round(value * 10 ** places) / 10 ** places;
}

/** Whether a number is a sum, a difference, a product or a share of others in its line, rounded to its last place. */
function followsFrom(value: number, terms: readonly number[], unit: number): boolean {
  const others = terms.filter((term) => term !== value);
  const total = others.reduce((sum, term) => sum + term, 0);
  const results = others.flatMap((one, at) =>
    others.flatMap((other, place) =>
      at === place ? [] : [one + other, one - other, one * other, (100 * one) / (other || 1)],
    ),
  );
  return [total, ...results].some((each) => Math.abs(value - Math.abs(each)) <= unit * 0.501);
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
function isToldByParts(name: string, known: string, isKnown: (piece: string) => boolean): boolean {
  if (name.includes("://") || isElsewhere(name, known)) return false;
  if (name.includes("/")) return name.split("/").every((each) => each === "" || isKnown(each));
  const parts = name.split("-").filter((each) => each !== "");
  return parts.length > 1 && parts.every((each) => !/\d/.test(each) || isKnown(each));
}

/** Whether a file is shown in one folder, and that is another. Some names stand in many. */
function isElsewhere(name: string, known: string): boolean {
  const [folder = "", file = ""] = flatten(name).split("/").slice(-2);
  const folders = new Set<string>();
  const inFolder = `/${file}`;
  if (!file.includes(".")) return false;
  for (let at = known.indexOf(inFolder); at !== -1 && folders.size < 2; at = known.indexOf(inFolder, at + 1))
    folders.add(/[^\s/]{0,80}$/.exec(known.slice(Math.max(0, at - 80), at))?.[0] ?? "");
  return folders.size === 1 && !folders.has(folder);
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
