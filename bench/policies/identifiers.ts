/**
 * Finds the identifiers of a text by their kinds, for a summariser that loses some of them.
 *
 * Text in, slices of that text out. It is safe on hostile input. The text is first cut at white space, and every
 * pattern then runs anchored on one short word, so its time is linear in the text.
 */

export type IdentifierKind =
  | "path"
  | "url"
  | "id"
  | "date"
  | "quantity"
  | "version"
  | "error"
  | "symbol"
  | "env"
  | "command";

export interface Identifier {
  readonly kind: IdentifierKind;
  readonly value: string;
  /** How often it was said. */
  readonly count: number;
}

/** Longest word that is examined, in characters. Longer words are data, not names. */
const MAX_WORD = 300;
/** Longest inline code that counts as a name or a command, in characters. */
const MAX_INLINE_CODE = 120;

const FILE_NAME =
  /^[\w@.+-]*\w\.(?:tsx?|jsx?|mjs|cjs|mts|cts|json[lc5]?|md|mdx|ya?ml|toml|lock|sql|sqlite|db|py|rs|go|rb|php|java|kt|swift|cc?|cpp|hpp?|cs|sh|bash|zsh|css|scss|html?|xml|svg|png|jpe?g|gif|webp|pdf|txt|csv|log|env|ini|cfg|conf|wasm|proto|vue|svelte|tf|zip|gz|patch|diff)$/i;
const ROOTS =
  /^(?:src|tests?|lib|libs|packages|apps?|docs?|bin|scripts|examples|bench|config|dist|build|public|server|client|internal|cmd|pkg|tools|crates|node_modules|etc|usr|var|tmp|home|opt|Users|\.github)$/;
const SEGMENT = /^[\w@.+~%-]+$/;
const UNIT =
  /^(?:ms|s|sec|secs|seconds?|min|mins|minutes?|hours?|hrs?|days?|weeks?|months?|years?|[KMGT]i?B|bytes?|chars|characters|tokens?|lines?|px|rem|em|fps|Hz|[kMG]Hz|rps|qps|%|percent|USD|EUR|GBP|dollars?|euros?|miles|km|kg|bags?|passengers?|messages?|rows?|tests?)$/i;
const PLAIN_NUMBER = /^[-+~<>≤≥]?\d[\d,]*(?:\.\d+)?$/;
const NUMBER_WITH_UNIT =
  /^[-+~<>≤≥]?(?:[$€£]\d[\d,]*(?:\.\d+)?[KMB]?|\d[\d,]*(?:\.\d+)?(?:ms|s|m|h|d|px|rem|em|fps|k|[kKMGT]i?B|[kMG]?Hz|%|x))$/;
const VERSION = /^(?:v\d+(?:\.\d+){0,3}|\d+\.\d+\.\d+)(?:[-+][\w.-]+)?$/;
const PACKAGE_AT_VERSION = /^@?[a-z][\w./-]*@[\^~]?\d[\w.+-]*$/;
const DATE = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/;
const TIME = /^\d{1,2}:\d{2}(?::\d{2})?(?:am|pm)?$|^\d{1,2}(?:am|pm)$/i;
const ERROR =
  /^(?:TS\d{4,5}|E\d{4}|E[A-Z]{4,20}|ERR_[A-Z0-9_]+|SQLITE_[A-Z_]+|[A-Z]\w*(?:Error|Exception)|SIG(?:KILL|TERM|SEGV|INT|ABRT|HUP))$/;
const ENV = /^\$?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const EMAIL = /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/;
const REFERENCE = /^(?:#\d+|[\w.-]+\/[\w.-]+#\d+|[A-Z]{2,8}-\d+)$/;
const NOT_AN_ID =
  /^(?:utf-?\d+|sha-?\d+|md5|base\d\d|http\d?|h264|mp[34]|ipv[46]|x86|x64|es\d+|iso-?\d+|oauth2|p\d\d|k8s|s3|ec2|win(?:32|64)|arm64|amd64|100644|100755|i18n|l10n|a11y)$/i;
const SYMBOL = /^[@#$_A-Za-z][\w$]*(?:(?:\.|::|#|\/|->|-)[\w$]+)*(?:\([^()]*\))?(?:\[\])?$/;
const COMMAND =
  /^(?:\$ )?(?:npm|npx|pnpm|yarn|bun|node|deno|git|gh|cargo|go|python3?|pip3?|uv|make|docker|kubectl|wrangler|curl|tsc|vitest|pytest|rg|grep|sed|rm|mv|cp|cd|ls|cat|mkdir|chmod|sudo|brew|apt|terraform)\s+\S/;
const ERROR_LEAD = /^(?:code|status|error|HTTP|HTTP\/1\.1|HTTP\/2):?$/i;

/**
 * The identifiers of `text` with their counts, in order of first appearance. A path loses a trailing line number, and a
 * word loses the punctuation around it. Nothing else is changed.
 */
export function extractIdentifiers(text: string): Identifier[] {
  const found = new Map<string, { kind: IdentifierKind; value: string; count: number }>();
  const add = (kind: IdentifierKind, value: string): void => {
    const key = `${kind} ${value}`;
    const known = found.get(key);
    if (known === undefined) found.set(key, { kind, value, count: 1 });
    else known.count++;
  };
  for (const line of text.split("\n")) scanLine(line, add);
  return [...found.values()];
}

type Add = (kind: IdentifierKind, value: string) => void;

function scanLine(line: string, add: Add): void {
  const shell = line.trimStart();
  if (shell.startsWith("$ ") && shell.length <= MAX_WORD) add("command", shell.slice(2).trim());
  const parts = line.split("`");
  const paired = parts.length % 2 === 1;
  parts.forEach((part, index) => {
    if (index % 2 === 1 && paired) scanCode(part, add);
    else scanWords(part, add);
  });
}

/** Reads inline code as one name, one command, or ordinary words. */
function scanCode(code: string, add: Add): void {
  const text = code.trim();
  if (text.length > MAX_INLINE_CODE) return scanWords(text, add);
  if (COMMAND.test(text)) {
    add("command", text.replace(/^\$ /, ""));
    return scanWords(text, add);
  }
  const kind = classify(text);
  if (kind !== null) return add(kind, kind === "path" ? bareName(text) : text);
  if (text.length > 1 && SYMBOL.test(text) && looksLikeCode(text)) return add("symbol", text);
  scanWords(text, add);
}

function scanWords(text: string, add: Add): void {
  let before = "";
  for (const raw of text.split(/\s/)) {
    if (raw === "") continue;
    const word = trimPunctuation(raw);
    const start = raw.indexOf(word);
    if (word !== "" && word.length <= MAX_WORD) classifyWord(word, start === 0 ? before : "", add);
    before = /[,;.]["')\]]*$/.test(raw) ? "" : raw.slice(start);
  }
}

/** `before` is the previous word with the characters after it, so that both together are a slice of the text. */
function classifyWord(word: string, before: string, add: Add): void {
  if (UNIT.test(word) && PLAIN_NUMBER.test(before)) return add("quantity", `${before} ${word}`);
  if (/^-?\d{1,3}$/.test(word) && ERROR_LEAD.test(before)) return add("error", `${before} ${word}`);
  const kind = classify(word);
  if (kind !== null) add(kind, kind === "path" ? bareName(word) : word);
}

/** An ordinary word is not a symbol, even between backticks. */
function looksLikeCode(text: string): boolean {
  return /[a-z][A-Z]|[A-Z][a-z]+[A-Z]|[_.:#$()[\]/\d@]|\w-\w/.test(text) || /^[A-Z][a-z]+$/.test(text);
}

/** The kind of name of one word. Null for an ordinary word. Every pattern is anchored, and the word is short. */
function classify(word: string): IdentifierKind | null {
  if (word.length < 2) return null;
  if (/^(?:https?|wss?|ftp|file|postgres(?:ql)?|redis|s3|git|ssh):\/\/\S{3,}$/i.test(word)) return "url";
  if (DATE.test(word) || TIME.test(word)) return "date";
  if (VERSION.test(word) || PACKAGE_AT_VERSION.test(word)) return "version";
  if (NUMBER_WITH_UNIT.test(word)) return "quantity";
  if (ERROR.test(word)) return "error";
  if (ENV.test(word)) return "env";
  if (isPath(bareName(word))) return "path";
  return isId(word) ? "id" : null;
}

function isPath(word: string): boolean {
  if (FILE_NAME.test(word)) return !/^[A-Z][a-z]+\.js$/.test(word);
  if (/^[A-Za-z]:\\[^<>|?*]+$/.test(word)) return true;
  if (!word.includes("/") || word.includes("//")) return false;
  const segments = word
    .replace(/^(?:~|\.{1,2})?\//, "")
    .replace(/\/$/, "")
    .split("/");
  if (!segments.every((segment) => SEGMENT.test(segment))) return false;
  if (FILE_NAME.test(segments.at(-1) ?? "")) return true;
  if (/^(?:~|\.{1,2})\//.test(word)) return true;
  const first = segments[0] ?? "";
  if (word.startsWith("/")) return segments.length > 1 || ROOTS.test(first);
  return ROOTS.test(first) && segments.length > 1;
}

function isId(word: string): boolean {
  if (NOT_AN_ID.test(word)) return false;
  if (UUID.test(word) || EMAIL.test(word) || REFERENCE.test(word)) return true;
  if (!/\d/.test(word)) return false;
  if (/^\d{6,20}$/.test(word)) return true;
  if (/^[0-9a-f]{7,64}$/.test(word)) return /[a-f]/.test(word);
  if (/^(?:[A-Z]+\d|\d+[A-Z])[A-Z0-9]{1,20}$/.test(word)) return word.length >= 5;
  if (/^[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*[_-]\d{3,}$/.test(word)) return true;
  return (
    /^[\w-]{16,80}$/.test(word) && /[a-z]/.test(word) && /[A-Z]/.test(word) && (word.match(/\d/g)?.length ?? 0) >= 3
  );
}

/** A path without the `@` of a mention and without `:line:column`. */
function bareName(word: string): string {
  return word.replace(/^@(?=[\w.-]+\/.*\.\w+)/, "").replace(/(?::\d+){1,2}(?:-\d+)?$/, "");
}

const OPENING = "\"'([{<*_,;:|=“‘";
const CLOSING = "\"')]}>*_,;:|=.!?”’…";

function trimPunctuation(word: string): string {
  let start = 0;
  let end = word.length;
  while (start < end && OPENING.includes(word.charAt(start))) start++;
  while (end > start && CLOSING.includes(word.charAt(end - 1))) end--;
  return word.slice(start, end);
}
