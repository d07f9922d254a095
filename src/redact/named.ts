/**
 * Finds values that a text names as secrets. It knows code and configuration (`password = "…"`, `--token …`), JSON, also within JSON, and
 * prose ("my password is …").
 *
 * Every name in a text is visited once. The text after it is read forward over a bounded number of characters and then judged. A variable,
 * a type, a placeholder or a word of a sentence is no secret.
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

/** Any other key. Its value is a secret only when nobody would write it by hand. */
const FAINT = String.raw`(?<!public[_. -]?)key|oauth2?-bearer|auth`;

/** A number that opens a card, a telephone or a door. A pin of a chip has fewer digits. */
export const PIN = "pin";
export const PIN_VALUE = /^\d{4,12}$/;

/** A suffix that still belongs to the name, as in `password1`, `passwords`, `TOKEN_PROD`. */
export const OF_A_NAME = String.raw`s?(?:[_-]?\d{1,2})?(?:_(?:prod(?:uction)?|dev(?:elopment)?|test(?:ing)?|stag(?:e|ing)|live|old|new|main|root|admin|default|value))?`;

const NAME = new RegExp(
  String.raw`(?:(?<strong>${STRONG})|(?<weak>${WEAK})|(?<pin>${PIN})|(?:${FAINT}))${OF_A_NAME}(?![\p{Script=Latin}\p{Script=Cyrillic}\d_]|-\w|\.\w)`,
  "giu",
);
/** A longer word that ends in one of these is no name, such as `compass`, `bypass` and `spin`. */
const SHORT = /^(?:pass\b|pass[^wpc]|pw|creds?|auth|key|pin)/i;

/** The value of a plural is a number, as in `max_tokens=4096` and `passes: 3`. */
const ARE_COUNTED = /^(?:tokens|passes)$/i;

/** The link between a name and its value. It decides which values count as secrets. */
type Link = "set" | "colon" | "spaced" | "said" | "option" | "beside" | "call" | "element";

interface Named {
  readonly text: string;
  /** Start and end of the name. */
  readonly from: number;
  readonly to: number;
  readonly strength: "strong" | "weak" | "faint" | "pin";
}

interface Value {
  readonly start: number;
  readonly end: number;
  readonly quoted: boolean;
}

export function* findNamed(text: string): Iterable<Finding> {
  let blanked = 0;
  for (const match of text.matchAll(NAME)) {
    const { index: from, groups } = match;
    if (from < blanked || isPartOfWord(text, from, match[0]) || ARE_COUNTED.test(match[0])) continue;
    const named = { text, from, to: from + match[0].length, strength: strengthOf(groups) } as const;
    const values = valuesOf(named);
    for (const value of values.length === 0 ? only(valueBefore(named)) : values) {
      blanked = Math.max(from, value.end);
      yield { start: value.start, end: value.end, kind: "secret" };
    }
  }
}

function strengthOf(groups: Readonly<Record<string, string | undefined>> = {}): Named["strength"] {
  if (groups["strong"] !== undefined) return "strong";
  if (groups["pin"] !== undefined) return "pin";
  return groups["weak"] === undefined ? "faint" : "weak";
}

function isPartOfWord(text: string, from: number, name: string): boolean {
  const before = text[from - 1] ?? "";
  if (!SHORT.test(name) || !/\p{L}/u.test(before)) return false;
  // `dbPass` and `DBPASS` are names, but `compass` is not.
  return !(/\p{Ll}/u.test(before) && /^\p{Lu}/u.test(name)) && !/^(?:PASS|CRED|PW)/.test(name);
}

// ── what follows a name ─────────────────────────────────────────────────────────────────────────────────────────────

/** The quote or bracket that closes a quoted name, and emphasis, as in `"password"`, `["password"]`, `**password**`. */
const CLOSE = /(?:\\{0,7}["'`])?\]?\*{0,2}/y;
/** A type or an array size between a name and its `=`, as in `password: string = ` and `var password string = `. */
const TYPE =
  /(?:\[\w{0,10}\]|[ \t]{0,3}\??:[ \t]{0,3}[A-Za-z_&][\w.<>|&[\]?' ]{0,40}?|[ \t][a-z_][\w.*[\]]{0,20}(?=[ \t]))[ \t]{0,3}(?==[^=>])/y;
const ASSIGN =
  /([ \t]{0,20})(=>|:{1,3}=|\?{1,2}=|\.=|\|\|=|\+=|={2,3}(?=[ \t"'`\\])|=|!={1,2}|::?|：|<-|->)([ \t]{0,20})\*{0,2}[ \t]?/y;
/** The value is on the next line, as people paste it. */
const NEXT_LINE = /[:：=][ \t]{0,5}\*{0,2}\r?\n[ \t]{0,10}/y;
const SAID = new RegExp(
  // "the password for the database is", "my password is now", "changed the password to"
  String.raw`(?: (?:for|of|on|to|from|in) [^\s.,;:]{1,40}(?: [^\s.,;:]{1,40}){0,4}?)?` +
    String.raw` (?:is|was|are|to|will be|should be|must be|ist|lautet|est|es|é|è)(?: (?:now|still|always|just|set to|simply))?:?[ \t]{1,3}` +
    // "password for the database: …"
    String.raw`| (?:for|of) [^\s.,;:]{1,40}(?: [^\s.,;:]{1,40}){0,3}?[:=][ \t]{0,3}` +
    String.raw`|[ \t]?(?:是|为|は|：|이|는)[ \t]?`,
  "yi",
);
const OPTION = /(?: {1,2}|=)(?=[^\s=-])/y;
const BESIDE = /[ \t]{1,3}(?=\S)/y;
const CALL = /\([ \t]{0,3}(?=["'`])/y;
const ELEMENT = />\s{0,20}(?=[^<\s])/y;
/** A value for the case that none is set, as in `env.PASSWORD || "…"` and `getenv("PASSWORD") ?: "…"`. */
const FALLBACK = /["'`]?[\])]{0,2}[ \t]{0,3}(?:\|\||\?\?|\?:|or\b)[ \t]{0,3}(?=["'`])/y;
/** The call of a function that reads a variable of the environment, up to the variable's name. */
const READS_ENVIRONMENT =
  /\b(?:get_?env|env|environ\.get|env_var|getProperty|getString)\([ \t]{0,3}["'`][\w.-]{0,60}$/i;
/** A value in its wrapping, as in `Some("…")` and `String::from("…")`. */
const WRAPPED =
  /(?:new[ \t])?(?:Some|Ok|Just|String(?:::from|\.valueOf)?|(?:Box|Cow|Arc|Rc)::(?:new|from)|Optional\.(?:of|some)|Secret\w{0,20}(?:::(?:new|from))?|str|bytes|Buffer\.from)\([ \t]{0,3}(?=["'`])/y;
/** The value of a named pair, as in `name: PASSWORD, value: …` and `key="password" value="…"`. */
const PAIRED = /["']?[ \t]{0,3},?\s{1,40}["']?value["']?[ \t]{0,3}[:=][ \t]{0,3}/iy;
const NAMES_A_PAIR = /(?:name|key|variable|parameter)["']?[ \t]{0,3}[:=][ \t]{0,3}["']?[\w.-]{0,60}$/i;
/** The default of a variable in Terraform. */
const DECLARED = /"[ \t]{0,3}\{(?:[^\n{}]{0,80}\n){1,4}?[ \t]{0,8}default[ \t]{0,5}=[ \t]{0,3}(?=")/y;
/** `setProperty("password", "…")`. */
const ARGUMENT = /,[ \t]{0,3}(?=\\{0,7}["'`])/y;
const LIST = /\[\s{0,20}(?=\\{0,7}["'`])/y;
const NEXT_ITEM = /\s{0,20},\s{0,20}(?=\\{0,7}["'`])/y;

function valuesOf(named: Named): readonly Value[] {
  const { text, to } = named;
  const closed = behind(CLOSE, text, to) ?? to;
  const typed = behind(TYPE, text, closed) ?? closed;
  const assigned = match(ASSIGN, text, typed);
  if (assigned !== null) {
    const at = typed + assigned[0].length;
    const list = behind(LIST, text, at);
    if (list !== null) return readList(named, list);
    const wrapped = behind(WRAPPED, text, at);
    if (wrapped !== null) return only(judge(named, "spaced", withoutSpace(text, readQuoted(text, wrapped))));
    const link = linkOf(assigned);
    const value = judge(
      named,
      link,
      readQuoted(text, at) ?? (link === "set" ? readWord(text, at) : readBare(text, at)),
    );
    if (value !== null) return [value];
    const next = behind(NEXT_LINE, text, closed);
    return only(next === null ? null : judgeAlone(named, readBare(text, next)));
  }
  if (isOption(named)) {
    const at = behind(OPTION, text, closed);
    return only(at === null ? null : judge(named, "option", readValue(text, at)));
  }
  const element = isTag(named) ? behind(ELEMENT, text, to) : null;
  if (element !== null) return only(judge(named, "element", readElement(text, element)));
  const placed = placeBehind(named);
  if (placed !== null) return only(judge(named, placed.link, withoutSpace(text, readValue(text, placed.at))));
  const argument = argumentBehind(named, closed);
  if (argument !== null) return only(argument.value);
  const call = behind(CALL, text, to);
  if (call !== null) return only(judge(named, "call", readValue(text, call)));
  const said = behind(SAID, text, closed);
  const judged = said === null ? null : judge(named, "said", readSaid(named, said));
  if (judged !== null) return [judged];
  const beside = behind(BESIDE, text, closed);
  return only(beside === null ? null : judge(named, "beside", readValue(text, beside)));
}

/** The next argument of a call, judged. Null where the name is no argument of one. */
function argumentBehind(named: Named, closed: number): { readonly value: Value | null } | null {
  const { text, from, to } = named;
  const isName = closed > to || /^[A-Z_]+$/.test(text.slice(from, to));
  const at = isName ? behind(ARGUMENT, text, closed) : null;
  if (at === null) return null;
  const value = readQuoted(text, at);
  const isDefault = READS_ENVIRONMENT.test(text.slice(Math.max(0, from - 90), from));
  return { value: isDefault ? judge(named, "spaced", withoutSpace(text, value)) : judge(named, "call", value) };
}

/** The place of a value that code puts behind a name without assigning it. Null where there is none. */
function placeBehind({ text, from, to }: Named): { readonly at: number; readonly link: Link } | null {
  const fallback = behind(FALLBACK, text, to);
  if (fallback !== null) return { at: fallback, link: "spaced" };
  const line = text.slice(Math.max(0, from - 100), from);
  const paired = NAMES_A_PAIR.test(line) ? behind(PAIRED, text, to) : null;
  const at = paired ?? (/\bvariable[ \t]{1,3}"[\w-]{0,60}$/.test(line) ? behind(DECLARED, text, to) : null);
  return at === null ? null : { at, link: "set" };
}

/** A message to a person is no default of a password. */
function withoutSpace(text: string, value: Value | null): Value | null {
  return value !== null && /\s/.test(text.slice(value.start, value.end)) ? null : value;
}

/** "use hunter22 as the password". The value is in quotes, or one word. */
const BEFORE =
  /(?:(?<quote>["'`])(?<quoted>[^"'`\n]{3,100})\k<quote>|(?<=^|\s)(?<bare>[^\s"'`,;]{4,100})) (?<as>(?:as|for) (?:(?:the|an?|my|your|our|his|her|its|their|this|that)(?: [\w-]{1,20}){0,2} )?)$/i;
/** Words after "password" that name something else, as in "as the password hash". */
const OF_A_PASSWORD =
  /^[ _-](?:hash|field|column|input|reset|algorithm|encod|manager|prompt|store|file|type|format|length|polic|rule)/i;

function valueBefore({ text, from, to, strength }: Named): Value | null {
  const line = text.slice(Math.max(0, from - 180), from);
  const groups = BEFORE.exec(line)?.groups;
  if (groups === undefined || strength === "pin" || strength === "faint") return null;
  if (OF_A_PASSWORD.test(text.slice(to, to + 12))) return null;
  const { quoted, bare, as = "" } = groups;
  const word = quoted ?? bare ?? "";
  const end = from - as.length - 1 - (quoted === undefined ? 0 : 1);
  const value = { start: end - word.length, end, quoted: quoted !== undefined };
  if (isStandIn(word, value) || /\s/.test(word)) return null;
  if (strength === "weak")
    return word.length >= 8 && isMixed(word) && !WORDS.test(word) && !isCode(word) ? value : null;
  return isSecretBeside(word) ? value : null;
}

function linkOf([, before = "", sign = "", after = ""]: RegExpExecArray): Link {
  if (sign === "=" && before === "" && after === "") return "set";
  return /^(?:::?|：)$/.test(sign) ? "colon" : "spaced";
}

/** `--db-password hunter2`. The name ends a word that begins with a dash. */
function isOption({ text, from }: Named): boolean {
  return /(?:^|[\s"'`([])--?[\w-]{0,40}$/.test(text.slice(Math.max(0, from - 42), from));
}

/** `<adminPassword>hunter2</adminPassword>`. */
function isTag({ text, from }: Named): boolean {
  return /<[\w:.-]{0,60}$/.test(text.slice(Math.max(0, from - 62), from));
}

function only(value: Value | null): readonly Value[] {
  return value === null ? [] : [value];
}

// ── the value ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** Most characters of a value. Any key in one line is shorter. */
const MAX_VALUE = 20_000;
const QUOTE = /(?:[frbuL@$]{0,2})(\\{0,7}["'`])/y;
/** Scripts without blanks between words would run on to the end of the sentence. */
const BARE = /[^\s"'`,;\\、。\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{1,2000}/uy;
const SENTENCE = /[^\n.!?"'`\\]{1,200}/y;
const IN_ELEMENT = /[^<\s](?:[^<\n]{0,500}[^<\s])?(?=\s{0,20}<\/)/y;

function readValue(text: string, at: number): Value | null {
  return readQuoted(text, at) ?? readBare(text, at);
}

/** Reads up to the closing quote, also an escaped one as in JSON within JSON. Where the text was cut off, reads up to the next blank. */
function readQuoted(text: string, at: number): Value | null {
  const opened = match(QUOTE, text, at);
  if (opened === null) return null;
  const quote = opened[1] ?? "";
  const start = at + opened[0].length;
  let end = start;
  for (; end < text.length && end - start < MAX_VALUE && text[end] !== "\n"; end++) {
    if (text.startsWith(quote, end)) return { start, end, quoted: true };
    if (text[end] === "\\" && quote.length === 1) end++;
  }
  const cut = readBare(text, start);
  return cut === null ? null : { ...cut, quoted: end < text.length && text[end] !== "\n" ? false : cut.quoted };
}

/** Reads a value in a shell or an address, up to a blank or the next parameter. */
function readWord(text: string, at: number): Value | null {
  const word =
    match(BARE, text, at)?.[0]
      .split("&", 1)[0]
      ?.replace(/[)\]}>]+$/, "") ?? "";
  return word === "" ? null : { start: at, end: at + word.length, quoted: false };
}

/** Reads up to a blank. Punctuation at the end is left out, and so is a closing bracket unless the value opened it. */
function readBare(text: string, at: number): Value | null {
  const found = match(BARE, text, at);
  if (found === null) return null;
  let value = found[0];
  for (;;) {
    const last = value.at(-1) ?? "";
    const opens = { ")": "(", "]": "[", "}": "{", ">": "<" }[last];
    if (!(/[.:?*|]/.test(last) || (opens !== undefined && !value.includes(opens)))) break;
    value = value.slice(0, -1);
  }
  return value === "" ? null : { start: at, end: at + value.length, quoted: false };
}

/** Reads the value that a sentence gives, which is in quotes or one word. A passphrase takes all words. */
function readSaid({ text, from, to }: Named, at: number): Value | null {
  if (!/phrase/i.test(text.slice(from, to))) return readValue(text, at);
  const found = readQuoted(text, at);
  if (found !== null) return found;
  const words = match(SENTENCE, text, at);
  return words === null ? null : { start: at, end: at + words[0].trimEnd().length, quoted: false };
}

function readElement(text: string, at: number): Value | null {
  const found = match(IN_ELEMENT, text, at);
  return found === null ? null : { start: at, end: at + found[0].length, quoted: true };
}

function readList(named: Named, from: number): readonly Value[] {
  const values: Value[] = [];
  for (let at: number | null = from; at !== null && values.length < 100;) {
    const value = readQuoted(named.text, at);
    if (value === null || !value.quoted) return values;
    if (judge(named, "spaced", value) !== null) values.push(value);
    const closed = behind(/\\{0,7}["'`]/y, named.text, value.end);
    at = closed === null ? null : behind(NEXT_ITEM, named.text, closed);
  }
  return values;
}

// ── whether it is a secret ──────────────────────────────────────────────────────────────────────────────────────────

const PLACEHOLDER = /^(?:[[<{(]|\$\(|\$?\$[{\w]|%[a-z_({]|\*{3}|\.{3}[\s.,;)\]}]*$|…|•|(.)\1{3,}$)/i;
/** A type, a constant, or a word in place of the value. */
const NO_VALUE =
  /^(?:string|str|text|bytes?|number|boolean|bool|int|char|varchar|any|unknown|object|true|false|null|nil|none|undefined|required|optional|empty|hidden|redacted|yes|no|ok|password|passwd|pass|secret|token|x+$|n\/a)\b/i;
/** Words that hold a sentence together. A passphrase has none. */
const OF_A_SENTENCE =
  /\b(?:an?|the|this|that|in|on|at|of|to|for|from|by|with|and|or|but|is|are|was|be|been|not|never|it|my|your|our|you|we|i)\b/i;
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
/** After "password", a version, a number or a name of a method is no secret. */
const NO_SECRET_BESIDE =
  /^(?:v?\d+\w{0,2}|sha|md\d|pbkdf|bcrypt|scrypt|argon|oauth|utf|base\d|http|aes|rsa|\d+-|[a-z]+\d?\b[:(])/i;
/** Words that more often describe a password than are one. */
const SAID_OF_IT =
  /^(?:an?|the|this|that|what|where|when|why|how|my|your|our|their|its|it|in|on|at|by|as|of|to|for|from|with|not|never|always|also|only|too|so|very|just|still|now|being|be|been|set|reset|wrong|right|correct|incorrect|same|different|invalid|valid|missing|empty|blank|weak|strong|safe|unsafe|secure|short|long|old|new|known|unknown|plain|kept|sent|read|shown|lost|gone|hard|easy|important|sensitive|private|secret|public|available|null|i|we|you|log|sign|access|use|get|have|make|prevent|avoid|ensure|[\w-]+(?:ed|ing|ly|able|ible))\b/i;

function judge(named: Named, link: Link, value: Value | null): Value | null {
  if (value === null) return null;
  const word = named.text.slice(value.start, value.end);
  if (isStandIn(word, value)) return null;
  const given = { named, word, link, value };
  const isIt = { strong: isStrong, weak: isWeak, faint: isFaint, pin: isPin }[named.strength](given);
  return isIt ? value : null;
}

/** A value with its name and the link between them. */
interface Given {
  readonly named: Named;
  readonly word: string;
  readonly link: Link;
  readonly value: Value;
}

/** True for a word that only stands in for a secret, which is a variable, a placeholder, a type or a label. */
function isStandIn(word: string, { quoted }: Value): boolean {
  if (PLACEHOLDER.test(word) || LABEL.test(word)) return true;
  if (!quoted && VARIABLE.test(word)) return true;
  return NO_VALUE.test(word) && !(quoted && /[\d!#^=+@]/.test(word));
}

function isStrong(given: Given): boolean {
  const { named, word, link } = given;
  // A directory is no secret.
  if (/pwd/i.test(named.text.slice(named.from, named.to)) && PATH.test(word)) return false;
  return STRONG_BY_LINK[link](given);
}

const STRONG_BY_LINK: Readonly<Record<Link, (given: Given) => boolean>> = {
  set: ({ named, word, value }) => value.quoted || (word.length >= 4 && !isCode(word) && isEnded(named.text, value)),
  colon: (given) => isAssigned(given) || (!isCode(given.word) && standsAlone(given.named, given.value)),
  spaced: (given) => isAssigned(given),
  option: ({ word, value }) => value.quoted || (word.length >= 4 && !/^[A-Z_]+$/.test(word) && !SAID_OF_IT.test(word)),
  said: ({ named, word, value }) => isSaid(named, word, value),
  beside: ({ word, value }) => {
    if (/\s/.test(word)) return false;
    return value.quoted ? word.length >= 4 && !WORDS.test(word) : isSecretBeside(word);
  },
  call: ({ word, value }) => value.quoted && word.length >= 4 && /\d/.test(word) && !/\s/.test(word),
  element: ({ word }) => !/\s/.test(word) && !isCode(word),
};

function isAssigned({ word, value }: Given): boolean {
  return value.quoted || (word.length >= 4 && /\d/.test(word) && !isCode(word));
}

function isWeak({ named: { text, from, to }, word, link, value }: Given): boolean {
  if (/\s/.test(word) || PATH.test(word)) return false;
  // A value named simply as a password may be as short as people make passwords.
  if (/^(?:pass|pw|비번|암호)/i.test(text.slice(from, to)))
    return isLongNumber(word, link) || (isSecretBeside(word) && !/^Test[A-Z]|\//.test(word));
  if (word.length < 8) return false;
  if (link === "set" && !value.quoted) return !isCode(word) && isEnded(text, value);
  if (!/\d/.test(word)) return false;
  if (link === "call" || link === "element") return value.quoted && isMixed(word);
  if (link === "beside") return value.quoted ? isMixed(word) : isRandom(word);
  if (link === "said") return isMixed(word) && !WORDS.test(word);
  if (value.quoted) return !/^\d{1,3}(?:\.\d{1,3}){1,3}/.test(word);
  return !isCode(word) && !WORDS.test(word);
}

/** A password of digits alone. Nobody counts that many passed tests. */
function isLongNumber(word: string, link: Link): boolean {
  return /^\d{7,}$/.test(word) && link !== "beside" && link !== "said";
}

function isPin({ word, link }: Given): boolean {
  return link !== "call" && link !== "beside" && PIN_VALUE.test(word);
}

function isFaint({ word, link }: Given): boolean {
  return link !== "said" && link !== "beside" && link !== "call" && word.length >= 16 && isRandom(word);
}

/** "my password is hunter" names a password, but "the password is wrong" describes one. */
function isSaid({ text, from, to }: Named, word: string, { quoted }: Value): boolean {
  if (quoted) return word.length >= 3;
  if (/phrase/i.test(text.slice(from, to))) return word.split(" ").length >= 3 && !OF_A_SENTENCE.test(word);
  if (SAID_OF_IT.test(word) || word.length < 3) return false;
  const mine = /\b(?:my|our|his|her|their|your|mein|mi|mon|minha)\b[^.!?\n]{0,30}$/i.test(
    text.slice(Math.max(0, from - 40), from),
  );
  return mine || isSecretBeside(word) || (/\d/.test(word) && word.length >= 4 && !NO_SECRET_BESIDE.test(word));
}

/** "with password hunter22". The value is one word with letters and digits that is no name of a method. */
function isSecretBeside(word: string): boolean {
  return word.length >= 6 && isMixed(word) && !NO_SECRET_BESIDE.test(word) && !isCode(word) && !PATH.test(word);
}

/** Letters of both cases and digits in an order that nobody would write by hand. */
function isRandom(word: string): boolean {
  return (
    word.length >= 12 &&
    /^[\w+/=.-]+$/.test(word) &&
    /[A-Z]/.test(word) &&
    /[a-z]/.test(word) &&
    /\d\D+\d/.test(word) &&
    !/[/.]\w*[/.]/.test(word)
  );
}

/** A token may have a dot in it. It is then longer and more mixed than any name in a program. */
function isCode(word: string): boolean {
  return CODE.test(word) && !(word.length >= 24 && /\d[A-Za-z]+\d/.test(word) && !/[([<]/.test(word));
}

function isMixed(word: string): boolean {
  return /\d/.test(word) && /\p{L}/u.test(word);
}

/** True when the value ends here, as in a shell or an address. In a call, a comma or a bracket follows, and the value is a variable. */
function isEnded(text: string, { start, end }: Value): boolean {
  const next = text[end] ?? "";
  return next === "" || /[\s"'`;&\\]/.test(next) || /\d/.test(text.slice(start, end));
}

/** True when the value is the rest of its line after the name, as in YAML. */
function standsAlone({ text, from }: Named, { start, end }: Value): boolean {
  const line = text.slice(Math.max(0, from - 80), from);
  return (
    end - start >= 6 &&
    /(?:^|\n)[ \t*-]{0,20}(?:[\w.-]{1,20} ){0,2}[\w.-]{0,60}$/.test(line) &&
    /^[ \t]{0,20}(?:\r?\n|$)/.test(text.slice(end, end + 22))
  );
}

function judgeAlone(named: Named, value: Value | null): Value | null {
  if (value === null || !/^[ \t*]{0,20}(?:\r?\n|$)/.test(named.text.slice(value.end, value.end + 22))) return null;
  return isSecretBeside(named.text.slice(value.start, value.end)) ? value : null;
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function behind(pattern: RegExp, text: string, at: number): number | null {
  const found = match(pattern, text, at);
  return found === null ? null : at + found[0].length;
}

/** Names of secrets in a text and in the members of an object. */

// ── columns of tables ───────────────────────────────────────────────────────────────────────────────────────────────

const HEADER = new RegExp(String.raw`^[*_\x60\s]{0,5}(?:[\w-]{1,20}[ _-]){0,2}(?:${STRONG})s?[*_\x60\s]{0,5}$`, "iu");
const EDGE = /[|│┃]/;
const RULE = /^[\s|│┃+:=\-─━┼├┤]{3,}$/;
/** Most characters of a line that is read as a row. */
const MAX_ROW_CHARS = 2_000;
/** One word with a digit or a sign. Any other cell is a type, a rule or a word about a password. */
const SECRET = /^(?=.{0,200}[\d!#$%&*+?@^~])[^\s[\]<>{}()]{4,200}$/;
const STAND_IN = /^(?:\*{3}|•|\$|\.{3}$|[a-z_]+\?$)|:$|^(?:v?\d+(?:\.\d+)*|\d+%?)$/i;

interface TableCell {
  readonly start: number;
  readonly text: string;
}

/**
 * Finds passwords in the columns of tables, as Markdown, consoles and databases draw them. Each line is split once. A header names a column,
 * and the rows below it are read until a line has no such column.
 */
export function* findInTables(text: string): Iterable<Finding> {
  let columns: readonly number[] = [];
  for (let from = 0; from < text.length;) {
    const newline = text.indexOf("\n", from);
    const end = newline < 0 ? text.length : newline;
    if (end - from > MAX_ROW_CHARS || !EDGE.test(text.slice(from, end))) {
      // A border of plus and minus signs belongs to the table.
      if (end - from > MAX_ROW_CHARS || !RULE.test(text.slice(from, end))) columns = [];
    } else {
      const cells = cellsOf(text.slice(from, end), from);
      const named = cells.flatMap((cell, at) => (HEADER.test(cell.text) ? [at] : []));
      if (named.length > 0) columns = named;
      else for (const at of columns) yield* secretIn(cells[at]);
    }
    from = end + 1;
  }
}

function cellsOf(line: string, from: number): TableCell[] {
  let start = from;
  return line.split(EDGE).map((text) => {
    const cell = { start, text };
    start += text.length + 1;
    return cell;
  });
}

function* secretIn(cell: TableCell | undefined): Iterable<Finding> {
  if (cell === undefined) return;
  // One after the other, because one expression for all three would try every way to part a row of stars.
  const before = /^[\s`*"']{0,50}/.exec(cell.text)?.[0] ?? "";
  const word = /^[^\s`"']{0,300}/.exec(cell.text.slice(before.length))?.[0] ?? "";
  const isAlone = /^[\s`*"']{0,1950}$/.test(cell.text.slice(before.length + word.length));
  if (!isAlone || !SECRET.test(word) || STAND_IN.test(word)) return;
  const start = cell.start + before.length;
  yield { start, end: start + word.length, kind: "secret" };
}
