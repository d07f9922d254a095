/**
 * Rules that find secrets in messages and blank them.
 *
 * This room is optional. `redactSecrets` and its exports take the rules as an argument, so a Worker that never imports this file bundles
 * neither the rules nor their library. Nothing here reads a clock, waits or draws a number, so the same text always gives the same result.
 */
import type { UIMessage } from "ai";
import { findKeys, type Finding } from "./keys.ts";
import { findNamed, OF_A_NAME, PIN, PIN_VALUE, STRONG, WEAK } from "./named.ts";
import { findPrivateKeys } from "./private-keys.ts";
import { findWithSecretlint } from "./secretlint.ts";

/** The rules that `redactSecrets` takes. Both functions leave earlier replacements unchanged. */
export interface SecretRules {
  /** Names the rules. A draft that was made under other rules is not used again. */
  readonly id: string;
  /** Returns the text with each secret replaced by `[redacted: <kind>]`. */
  readonly redactText: (text: string) => string;
  /** Returns the message with every text in its parts and metadata redacted, arguments and results of tools included. Ids stay. */
  readonly redactMessage: (message: UIMessage) => UIMessage;
}

/** Raise this when a change of the rules finds more. Drafts that older rules let through are then made anew. */
const RULES_ID = "palimpsest-6+secretlint-13.0.7";

/** The order decides the kind. Of findings with the same start, the first one names it. */
const OWN_FINDERS: readonly ((text: string) => Iterable<Finding>)[] = [findPrivateKeys, findKeys, findNamed];

/** Blanking one secret may expose the next, such as a value behind a value. Real text needs two passes at most. */
const MAX_PASSES = 5;

/** Returns the rules of this library together with the recommended rules of secretlint. */
export function secretRules(): SecretRules {
  return { id: RULES_ID, redactText, redactMessage };
}

function redactText(text: string): string {
  let clean = text;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const next = blank(clean, findSecrets(clean));
    if (next === clean) return clean;
    clean = next;
  }
  return clean;
}

/** Where secretlint reports a whole address and we its secret alone, our finding suffices, because the rest may be useful. */
function findSecrets(text: string): readonly Finding[] {
  const own = OWN_FINDERS.flatMap((find) => [...find(text)]).toSorted((a, b) => a.start - b.start);
  const more = findWithSecretlint(text).toSorted((a, b) => a.start - b.start);
  let at = 0;
  const others = more.filter(({ start, end }) => {
    while ((own[at]?.start ?? Infinity) < start) at++;
    return (own[at]?.end ?? Infinity) > end;
  });
  return [...own, ...others];
}

function redactMessage(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) => blankMembers(part) as typeof part);
  if (message.metadata === undefined) return { ...message, parts };
  return { ...message, parts, metadata: blankMembers(message.metadata) };
}

/** Overlapping findings are blanked as one. */
function blank(text: string, findings: readonly Finding[]): string {
  const ordered = findings.toSorted((a, b) => a.start - b.start);
  const pieces: string[] = [];
  let written = 0;
  for (let at = 0; at < ordered.length; at++) {
    const { start, kind, end: ownEnd } = ordered[at] ?? { start: 0, end: 0, kind: "" };
    let end = ownEnd;
    for (let next = ordered[at + 1]; next !== undefined && next.start < end; next = ordered[at + 1]) {
      end = Math.max(end, next.end);
      at++;
    }
    pieces.push(text.slice(written, start), `[redacted: ${kind}]`);
    written = end;
  }
  return written === 0 ? text : pieces.join("") + text.slice(written);
}

// ── members of objects, whose names decide, whatever the value looks like ────────────────────────────────────────────

const BLANK = "[redacted: secret]";

const IS_SECRET = new RegExp(String.raw`(?:^|_)(?:${STRONG}|${WEAK}|authorization|cookie)${OF_A_NAME}$`, "i");
const IS_PIN = new RegExp(String.raw`(?:^|_)${PIN}$`, "i");
/** Plural names. An object under such a name holds secrets with names of their own. */
const ARE_SECRETS = new RegExp(String.raw`(?:^|_)(?:${STRONG}|secret|pass|creds?|credential|api_?key)(?:s|es)$`, "i");
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
function blankMembers(value: unknown): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map((each) => blankMembers(each));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, each]) => [redactText(key), blankMember(key, each)]);
  return Object.fromEntries(members) as unknown;
}

function blankMember(key: string, value: unknown): unknown {
  // The fields that join a call to its result stay.
  if (key === "toolCallId" || key === "type") return value;
  const words = key.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|[\s.-]/g, "_");
  const isPin = IS_PIN.test(words) && (typeof value === "number" || typeof value === "string");
  if (isPin && PIN_VALUE.test(String(value))) return BLANK;
  if (/tokens$/i.test(words) || !IS_SECRET.test(words)) return blankMembers(value);
  if (typeof value === "number") return ARE_COUNTED.test(words) && !isLongNumber(value) ? value : BLANK;
  if (typeof value === "string") return isSaid(words, value) ? redactText(value) : BLANK;
  if (Array.isArray(value)) return value.map((each) => blankMember(key, each));
  if (typeof value !== "object" || value === null) return value;
  const many = ARE_SECRETS.test(words);
  const members = Object.entries(value).map(([name, each]) => {
    const holds = many ? !SAYS_WHICH.test(name) : HOLDS_VALUE.test(name);
    return [redactText(name), holds ? blankAll(each) : blankMember(name, each)];
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
