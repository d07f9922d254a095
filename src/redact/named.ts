/**
 * Finds values that a text gives to a secret's name: in code, configuration, JSON, also within JSON, options of commands, and behind the
 * name in a sentence.
 *
 * Every name is visited once. What follows it is read forward over a bounded number of characters and then judged by its shape. A variable,
 * a type, a placeholder or a plain word is no secret.
 */
import type { Finding } from "./keys.ts";

/** A value under one of these names is a secret. */
export const STRONG = [
  "pass(?:word|wd|phrase|code)",
  "pwd",
  "client[_. -]?secret",
  "_auth",
  "(?:seed|recovery|mnemonic)[_ -]?phrase",
  // Names in other languages.
  "passwort",
  "kennwort",
  "mot de passe",
  "contrase(?:ñ|n)a",
  "senha",
  "пароль",
  "密码",
  "密碼",
  "口令",
  "パスワード",
  "비밀번호",
  "패스워드",
].join("|");

/** Kinds of key that are secret. Other keys are columns, caches, objects and letters on a keyboard. */
const OF_KEYS =
  "access|account|admin|api|app|auth|client|consumer|crypto|decrypt(?:ion)?|deploy|encrypt(?:ion)?|hmac|jwt|licen[cs]e|" +
  "master|private|secret|security|server|service|session|shared|sign(?:ing|ature)?|ssh|storage|subscription|webhook";

/** Names that also stand for a count, a word of a grammar or a passed test. Their value must look like a secret. */
export const WEAK = [
  `(?:${OF_KEYS})[_. -]?key`,
  "secret",
  "token",
  "creds?",
  "credentials?",
  // Short for a password, but also for a passed test and a pulse.
  "pass",
  "pw",
  "비번",
  "암호",
].join("|");

/** A number that opens a card, a telephone or a door. A pin of a chip has fewer digits. */
export const PIN = "pin";
export const PIN_VALUE = /^\d{4,12}$/;

/** A suffix that still belongs to the name, as in `password1`, `passwords`, `TOKEN_PROD`. */
export const OF_A_NAME = String.raw`s?(?:[_-]?\d{1,2})?(?:_(?:prod(?:uction)?|dev(?:elopment)?|test(?:ing)?|stag(?:e|ing)|live|old|new|main|root|admin|default|value))?`;

const NAME = new RegExp(
  String.raw`(?:(?<strong>${STRONG})|(?<weak>${WEAK})|(?<pin>${PIN})|(?<!public[_. -]?)key|auth)${OF_A_NAME}(?![\p{Script=Latin}\p{Script=Cyrillic}\d_]|-\w|\.\w)`,
  "giu",
);
/** A longer word that ends in one of these is no name, such as `compass`, `bypass` and `spin`. */
const SHORT = /^(?:pass\b|pass[^wpc]|pw|creds?|auth|key|pin)/i;

/** The value of a plural is a number, as in `max_tokens=4096` and `passes: 3`. */
const ARE_COUNTED = /^(?:tokens|passes)$/i;

/** What joins a name to its value. Other ways, such as a column of a table or "use … as the password", are not looked for. */
const LINK = new RegExp(
  // The end of a quoted name, and a type or a size between a name and its `=`.
  String.raw`(?:(?:\\{0,7}["'\x60])?[\])]{0,2}\*{0,2}` +
    String.raw`(?:(?:\[\w{0,10}\]|[ \t]{0,3}\??:[ \t]{0,3}[A-Za-z_&][\w.<>|&[\]?' ]{0,40}?|[ \t][a-z_][\w.*[\]]{0,20}(?=[ \t]))[ \t]{0,3}(?==[^=>]))?` +
    String.raw`(?:(?<assigned>[ \t]{0,20}(?:=>|:{1,3}=|[?.+]{1,2}=|={2,3}(?=[ \t"'\x60\\])|=|!={1,2}|::?|：)[ \t]{0,20}\*{0,2}(?:[ \t]|\[\s{0,20}(?=["'\x60\\]))?` +
    // `name: PASSWORD, value: …`
    String.raw`|[ \t]{0,3},?\s{1,40}["']?value["']?[ \t]{0,3}[:=][ \t]{0,3}|>\s{0,20})` +
    // A call, its second argument, or the value for the case that none is set.
    String.raw`|(?<argument>(?:\(|(?<=["'\x60]),|[ \t]{0,3}(?:\|\||\?\?|\?:|or\b))[ \t]{0,3}(?=\\{0,7}["'\x60]))` +
    String.raw`|(?<said> (?:is|was|to|ist|lautet|est|es|é|è)(?: now)?:?[ \t]{1,3}|[ \t]?(?:是|为|は|이|는)[ \t]?)|[ \t]{1,3}(?=\S)))`,
  "yi",
);

interface Value {
  readonly start: number;
  readonly end: number;
  readonly quoted: boolean;
}

interface Given {
  readonly name: string;
  readonly word: string;
  readonly quoted: boolean;
  readonly link: "assigned" | "argument" | "said" | "beside";
  /** Whether it is a word of a shell, as in `PASSWORD=…`. */
  readonly isTight: boolean;
  /** Whether nothing but the value stands on the rest of its line. */
  readonly endsLine: boolean;
}

export function* findNamed(text: string): Iterable<Finding> {
  let blanked = 0;
  for (const match of text.matchAll(NAME)) {
    const { index: from, groups = {}, 0: name } = match;
    if (from < blanked || isPartOfWord(text, from, name) || ARE_COUNTED.test(name)) continue;
    const to = from + name.length;
    const link = matchAt(LINK, text, to);
    if (link === null) continue;
    const { assigned, argument, said } = link.groups ?? {};
    const isTight = assigned === "=";
    const value = readValue(text, to + link[0].length, isTight);
    if (value === null) continue;
    const isSet = assigned !== undefined || isOption(text, from);
    const given: Given = {
      name,
      word: text.slice(value.start, value.end),
      quoted: value.quoted,
      link: isSet ? "assigned" : argument !== undefined ? "argument" : said === undefined ? "beside" : "said",
      isTight,
      endsLine: endsLine(text, value),
    };
    if (isStandIn(given) || !judgeOf(groups)(given)) continue;
    blanked = value.end;
    yield { start: value.start, end: value.end, kind: "secret" };
  }
}

function isPartOfWord(text: string, from: number, name: string): boolean {
  const before = text[from - 1] ?? "";
  if (!SHORT.test(name) || !/\p{L}/u.test(before)) return false;
  // `dbPass` and `DBPASS` are names, but `compass` is not.
  return !(/\p{Ll}/u.test(before) && /^\p{Lu}/u.test(name)) && !/^(?:PASS|CRED|PW)/.test(name);
}

/** `--db-password hunter2`. The name ends a word that begins with a dash. */
function isOption(text: string, from: number): boolean {
  return /(?:^|[\s"'`([])--?[\w-]{0,40}$/.test(text.slice(Math.max(0, from - 42), from));
}

function endsLine(text: string, { end }: Value): boolean {
  return /^[ \t]{0,20}(?:\r?\n|$)/.test(text.slice(end, end + 22));
}

// ── the value ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Most characters of a value. Any key in one line is shorter. */
const MAX_VALUE = 20_000;
const QUOTE = /(?:[frbuL@$]{0,2})(\\{0,7}["'`])/y;
/** Scripts without blanks between words would run on to the end of the sentence. */
const BARE = /[^\s"'`,;\\、。\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{1,2000}/uy;

/** Reads up to the closing quote, also an escaped one as in JSON within JSON. A text without quotes is read up to a blank. */
function readValue(text: string, at: number, isTight: boolean): Value | null {
  const opened = matchAt(QUOTE, text, at);
  if (opened === null) return readBare(text, at, isTight);
  const quote = opened[1] ?? "";
  const start = at + opened[0].length;
  let end = start;
  for (; end < text.length && end - start < MAX_VALUE && text[end] !== "\n"; end++) {
    if (text.startsWith(quote, end)) return { start, end, quoted: true };
    if (text[end] === "\\" && quote.length === 1) end++;
  }
  return readBare(text, start, isTight);
}

/** Punctuation at the end of a sentence is left out, and so is a closing bracket unless the value opened it. */
function readBare(text: string, at: number, isTight: boolean): Value | null {
  // The next parameter of an address, or the end of an element.
  let value = matchAt(BARE, text, at)?.[0].split(isTight ? "&" : "</", 1)[0] ?? "";
  for (;;) {
    const last = value.at(-1) ?? "";
    const opens = { ")": "(", "]": "[", "}": "{", ">": "<" }[last];
    if (!((!isTight && /[.:?*|]/.test(last)) || (opens !== undefined && !value.includes(opens)))) break;
    value = value.slice(0, -1);
  }
  return value === "" ? null : { start: at, end: at + value.length, quoted: false };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

// ── whether it is a secret ──────────────────────────────────────────────────────────────────────────────────────────

const PLACEHOLDER = /^(?:[[<{(]|\$\(|\$?\$[{\w]|%[a-z_({]|\*{3}|\.{3}[\s.,;)\]}]*$|…|•|(.)\1{3,}$)/i;
/** A type, a constant, or a word in place of the value. */
const NO_VALUE =
  /^(?:string|str|text|bytes?|number|boolean|bool|int|char|varchar|any|unknown|object|true|false|null|nil|none|undefined|required|optional|empty|hidden|redacted|yes|no|ok|password|passwd|pass|secret|token|x+$|n\/a)\b/i;
/** A text on a form, or the name of a field, as in `passwordInput` and `Password must be …`. */
const LABEL =
  /^(?:password|passwd|secret|token|api ?key)(?:[A-Z][A-Za-z]*$|[ _-]?(?:is|must|should|field|input|required|here)\b)/i;
const PATH = /^(?:~?\.{0,2}\/|~|\.|[a-z]:\\|https?:|file:)/i;
/** A variable with a secret's name. */
const VARIABLE = /^[A-Za-z_$][\w$]*(?:key|token|secret|password|passwd|pwd|credentials?)$/i;
/** A member, a call, or a name made of words. Such code only refers to the value. */
const CODE = /^&?[a-z_$][\w$]*(?:<|\??\.[a-z_$]|\(|\[|(?:::|->)[a-z_$])/i;
/** Each sign can match in one way only, so that the time is linear in the word. */
const WORDS = /^[a-z$]+(?:[_-][a-z]+)*(?:[_-]?\d{1,5}[a-z]*|[_-])?$/i;
/** A version, a number or a name of a method. */
const NAMES_A_METHOD =
  /^(?:v?\d+\w{0,2}|sha|md\d|pbkdf|bcrypt|scrypt|argon|oauth|utf|base\d|http|aes|rsa|\d+-|[a-z]+\d?\b[:(])/i;

/** True for a word that only stands in for a secret, which is a variable, a placeholder, a type or a label. */
function isStandIn({ word, quoted }: Given): boolean {
  if (PLACEHOLDER.test(word) || LABEL.test(word)) return true;
  if (!quoted && VARIABLE.test(word)) return true;
  return NO_VALUE.test(word) && !(quoted && /[\d!#^=+@]/.test(word));
}

function judgeOf(groups: Readonly<Record<string, string | undefined>>): (given: Given) => boolean {
  if (groups["strong"] !== undefined) return isPassword;
  if (groups["weak"] !== undefined) return isKey;
  return groups["pin"] === undefined ? isFaint : isPin;
}

function isPassword({ name, word, quoted, link, isTight, endsLine: isLast }: Given): boolean {
  // A directory is no secret.
  if (/pwd/i.test(name) && PATH.test(word)) return false;
  if (link === "argument") return /\d/.test(word) && word.length >= 4 && !/\s/.test(word);
  if (link !== "assigned") return isMixed(word);
  return quoted || (word.length >= 4 && !isCode(word) && (isTight || isLast || /\d/.test(word)));
}

function isKey({ name, word, quoted, link, isTight }: Given): boolean {
  if (/\s/.test(word) || PATH.test(word)) return false;
  if (/^(?:pass|pw|비번|암호)/i.test(name)) return isMixed(word) && !/^Test[A-Z]|\//.test(word);
  if (link === "beside") return isRandom(word);
  if (link !== "assigned") return isMixed(word) && !WORDS.test(word) && word.length >= 8;
  if (word.length < 8 || (!quoted && isCode(word))) return false;
  return (isTight && !quoted) || (/\d/.test(word) && (quoted || !WORDS.test(word)));
}

function isFaint({ word, link }: Given): boolean {
  return link === "assigned" && word.length >= 16 && isRandom(word);
}

function isPin({ word, link }: Given): boolean {
  return (link === "assigned" || link === "said") && PIN_VALUE.test(word);
}

/** One word with letters and digits that is no name of a method. */
function isMixed(word: string): boolean {
  const isWord =
    word.length >= 6 && !/\s/.test(word) && !NAMES_A_METHOD.test(word) && !isCode(word) && !PATH.test(word);
  return isWord && /\d/.test(word) && /\p{L}/u.test(word);
}

/** Letters of both cases and digits in an order that nobody would write by hand. */
function isRandom(word: string): boolean {
  const isLong = word.length >= 12 && /^[\w+/=.-]+$/.test(word) && !/[/.]\w*[/.]/.test(word);
  return isLong && /[A-Z]/.test(word) && /[a-z]/.test(word) && /\d\D+\d/.test(word);
}

/** A token may have a dot in it. It is then longer and more mixed than any name in a program. */
function isCode(word: string): boolean {
  return CODE.test(word) && !(word.length >= 24 && /\d[A-Za-z]+\d/.test(word) && !/[([<]/.test(word));
}
