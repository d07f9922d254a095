/** Redacts the members of objects. A member's name decides that its value is a secret, regardless of the value's form. */
import { OF_A_NAME, PIN, PIN_VALUE, STRONG, WEAK } from "./names.ts";

const BLANK = "[redacted: secret]";

const IS_SECRET = new RegExp(String.raw`(?:^|_)(?:${STRONG}|${WEAK}|authorization|cookie)${OF_A_NAME}$`, "i");
const IS_PIN = new RegExp(String.raw`(?:^|_)${PIN}$`, "i");
/** Plural names. An object under such a name holds secrets with names of their own. */
const ARE_SECRETS = new RegExp(
  String.raw`(?:^|_)(?:${STRONG}|secret|pass|creds?|credential|${"api_?key"})(?:s|es)$`,
  "i",
);
/** Tokens and passes are more often counted than secret. */
const ARE_COUNTED = /(?:^|_)(?:tokens|pass|passes)$/i;

/** Members that hold the secret itself, in an object under a secret's name. */
const HOLDS_VALUE = /^(?:value|current|previous|new|old|confirm(?:ation)?|plain(?:_?text)?|raw)$/i;
/** Members that only identify a secret among several. */
const SAYS_WHICH =
  /^(?:id|key|name|type|kind|label|title|user(?:_?name)?|login|e?mail|host|port|url|path|scope|description|version|algorithm|.*_at)$/i;

const PATH = /^(?:[/~.]|[a-z]:\\)/i;
/** Words in place of a secret that describe it. */
const SAYS_NO_SECRET =
  /^(?:yes|no|ok|on|off|true|false|none|null|pass(?:ed)?|fail(?:ed)?|skip(?:ped)?|include|omit|inherit|same-origin|required|optional|string)?$/i;

/** Returns the value with each text in it redacted and each value under a secret's name blanked. */
export function blankMembers(value: unknown, redactText: (text: string) => string): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map((each) => blankMembers(each, redactText));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, each]) => [redactText(key), blankMember(key, each, redactText)]);
  return Object.fromEntries(members) as unknown;
}

function blankMember(key: string, value: unknown, redactText: (text: string) => string): unknown {
  // The fields that join a call to its result stay.
  if (key === "toolCallId" || key === "type") return value;
  const words = key.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|[\s.-]/g, "_");
  const isPin = IS_PIN.test(words) && (typeof value === "number" || typeof value === "string");
  if (isPin && PIN_VALUE.test(String(value))) return BLANK;
  if (/tokens$/i.test(words) || !IS_SECRET.test(words)) return blankMembers(value, redactText);
  if (typeof value === "number") return ARE_COUNTED.test(words) && !isLongNumber(value) ? value : BLANK;
  if (typeof value === "string") return isSaid(words, value) ? redactText(value) : BLANK;
  if (Array.isArray(value)) return value.map((each) => blankMember(key, each, redactText));
  if (typeof value !== "object" || value === null) return value;
  const many = ARE_SECRETS.test(words);
  const members = Object.entries(value).map(([name, each]) => {
    const holds = many ? !SAYS_WHICH.test(name) : HOLDS_VALUE.test(name);
    return [redactText(name), holds ? blankAll(each) : blankMember(name, each, redactText)];
  });
  return Object.fromEntries(members);
}

/**
 * True when a text under a secret's name is no secret. It may be a directory under `pwd`, a file that holds the secret, or a word about it.
 */
function isSaid(words: string, value: string): boolean {
  if (/pwd$|secrets$/i.test(words) && PATH.test(value)) return true;
  return SAYS_NO_SECRET.test(value) && (value === "" || !/password|passphrase/i.test(words));
}

/** Nobody counts that many passed tests. A password may be a number. */
function isLongNumber(value: number): boolean {
  return Number.isInteger(value) && value >= 1_000_000;
}

function blankAll(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(blankAll);
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, SAYS_WHICH.test(key) ? each : blankAll(each)]),
    );
  }
  return (typeof value === "string" && value !== "") || typeof value === "number" ? BLANK : value;
}
