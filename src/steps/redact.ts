/**
 * Secrets in what was said, blanked before it goes elsewhere: to a summariser, or into an export.
 *
 * Job: find what is a secret by its shape (keys that say what they are) or by its place (after `password=` and the like).
 * Boundary: what is stored stays as it came. Safe because it errs towards blanking, and every repetition in a pattern is
 * bounded, so that each looks at a character a bounded number of times. What has neither shape nor place is not found: see
 * SECURITY.md.
 */
import type { UIMessage } from "ai";

interface Pattern {
  readonly kind: string;
  /** What matches goes; what the group `keep` holds of it stays. */
  readonly shape: RegExp;
}

/** What a secret is called, whatever it looks like. `PWD` is a secret unless a path follows. */
const SURE = String.raw`password|passwd|passphrase|passcode|client[_-]?secret|private[_-]?key|pwd(?!\W{1,8}[/~.])`;
/** What other things are called as well: a count, a word of a grammar, a page of a list. */
const MAYBE = "secret|token|api[_-]?key|access[_-]?key";
/** Between a name and its value: `=`, `: `, `": `, and the same in JSON that is a text of JSON. */
const IS = String.raw`\\{0,7}["']?\s{0,3}[:=]\s{0,3}`;
/** What stands in for a value: a variable, a placeholder, a type. What was blanked begins with a bracket, too. */
const REAL = String.raw`(?![[<{(]|\$[a-z_{(]|%[a-z_({]|\*{3}|(?:string|str|bytes|number|boolean|any|unknown|true|false|null|nil|none|undefined|required|optional)\b)`;
const WITH_DIGIT = String.raw`(?=[^\s"'\x60,;]{0,60}\d)`;
/** A sign of a value that a blank, a quote or a comma ends; and of one that signs of code end, too. */
const SIGN = String.raw`(?:[^\s"'\x60,;[\]\\]|\\(?!["'\x60\\]))`;
const BARE = String.raw`[^\s"'\x60,;&()[\]<>\\]`;
const ENDS = String.raw`(?=[\s"'\x60;&\\]|$)`;
/** No member of anything: `password=config.password`. */
const NO_CODE = String.raw`(?![a-z_]\w*\.[a-z_])`;

function secret(shape: string): Pattern {
  return { kind: "secret", shape: new RegExp(shape, "gim") };
}

/** Where a token may begin: not in the middle of another one. */
const PATTERNS: readonly Pattern[] = [
  {
    kind: "private key",
    shape: /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\w+/=\s\\]{0,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g,
  },
  { kind: "cloud key", shape: /(?<!\w)(?:AKIA|ASIA)[0-9A-Z]{16}(?!\w)/g },
  { kind: "cloud key", shape: /(?<![\w-])AIza[\w-]{35}(?![\w-])/g },
  { kind: "cloud key", shape: /(?<!\w)dop_v1_[0-9a-f]{40,}/g },
  { kind: "repository token", shape: /(?<!\w)(?:gh[opsru]_|github_pat_|glpat-)[\w-]{20,}/g },
  { kind: "registry token", shape: /(?<!\w)(?:npm_[0-9A-Za-z]{30,}|pypi-[\w-]{40,})/g },
  { kind: "model key", shape: /(?<![\w-])sk-[\w-]{20,}/g },
  { kind: "model key", shape: /(?<!\w)hf_[0-9A-Za-z]{30,}/g },
  { kind: "payment key", shape: /(?<!\w)(?:sk|rk|whsec)_(?:live_|test_)?[0-9A-Za-z]{20,}/g },
  { kind: "mail key", shape: /(?<!\w)SG\.[\w-]{16,}\.[\w-]{16,}/g },
  { kind: "chat token", shape: /(?<![\w-])xox[a-z]-[\w-]{10,}/g },
  { kind: "chat token", shape: /(?<keep>hooks\.slack\.com\/services\/)[\w/]{10,200}/g },
  { kind: "signed token", shape: /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/g },
  { kind: "credentials", shape: /(?<=\b(?:Bearer|Basic) {1,3})[\w.~+/-]{16,}={0,2}/gi },
  // A password may hold a slash or an at sign; a port is none.
  {
    kind: "credentials",
    shape: /(?<=:\/\/)[^\s/:@?#"'<>\\]{0,100}:(?!\d{1,5}[/?#])[^\s"'<>\\]{1,200}(?=@)/g,
  },
  {
    kind: "cookie",
    shape:
      /(?<keep>\b(?:set-)?cookie\\{0,7}["']?\s{0,3}[:=]\s{0,3}\\{0,7}["']?)(?=[\w.!#$%*+^|~-]{1,100}=)[^\n"'\\]{3,4000}/gi,
  },
  // In quotes, up to the one that ends them, be they escaped as in JSON that is a text of JSON.
  secret(String.raw`(?<keep>(?:${SURE})${IS}(?<quote>["']))${REAL}(?:\\.|(?!\k<quote>)[^\\\n]){1,500}`),
  secret(String.raw`(?<keep>(?:${SURE})${IS}(?<quote>\\{1,7}["']))${REAL}(?:(?!\k<quote>)[^\n]){1,500}`),
  // Set as in a shell or in an address.
  secret(String.raw`(?<keep>(?:${SURE})=)${REAL}${NO_CODE}${BARE}{4,200}${ENDS}`),
  secret(String.raw`(?<keep>(?:${MAYBE})=)${REAL}${NO_CODE}${BARE}{8,200}${ENDS}`),
  // With a digit in it, or alone on its line, it is no word of a sentence.
  secret(String.raw`(?<keep>(?:${SURE})${IS})${REAL}${WITH_DIGIT}${SIGN}{4,200}`),
  secret(String.raw`(?<keep>(?:${MAYBE})${IS}\\{0,7}["']?)${REAL}${WITH_DIGIT}${SIGN}{8,200}`),
  secret(String.raw`(?<keep>^[ \t-]{0,20}[\w.-]{0,60}(?:${SURE}): {1,3})${REAL}${BARE}{6,200}(?=[ \t]{0,20}$)`),
];

/** The text with each secret replaced by `[redacted: <kind>]`. */
export function redactText(text: string): string {
  return PATTERNS.reduce((clean, { kind, shape }) => {
    const blank = `[redacted: ${kind}]`;
    return clean.replace(shape, (...found) => {
      const groups: unknown = found.at(-1);
      return typeof groups === "object" ? `${(groups as { keep: string }).keep}${blank}` : blank;
    });
  }, text);
}

/** The message with every text of its parts and metadata redacted, arguments and results of tools included. Ids stay. */
export function redactMessage(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) => redactValue(part) as typeof part);
  if (message.metadata === undefined) return { ...message, parts };
  return { ...message, parts, metadata: redactValue(message.metadata) };
}

function redactValue(value: unknown): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [redactText(key), redactMember(key, each)]));
}

/** What the name of a member ends in whose value is a secret, words divided by `_`. */
const SECRET_MEMBER =
  /(?:^|_)(?:password|passwd|passphrase|passcode|pwd|secret|token|authorization|cookie|(?:api|access|private|secret)_?key)$/i;
const PATH = /^(?:[/~.]|[a-z]:\\)/i;

/**
 * A member's own name may say that it is a secret: `DB_PASSWORD`, `db-password`, `dbPassword`; a number or a list under it
 * as well. A directory (`pwd`) is none. What joins a call to its result stays.
 */
function redactMember(key: string, value: unknown): unknown {
  if (key === "toolCallId" || key === "type") return value;
  const isDirectory = /pwd$/i.test(key) && typeof value === "string" && PATH.test(value);
  const words = key.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|[\s.-]/g, "_");
  return SECRET_MEMBER.test(words) && !isDirectory ? blankMember(value) : redactValue(value);
}

function blankMember(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(blankMember);
  const isWord = (typeof value === "string" && value !== "") || typeof value === "number";
  return isWord ? "[redacted: secret]" : redactValue(value);
}
