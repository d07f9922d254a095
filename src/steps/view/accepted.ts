/**
 * The forms of a call's id, a tool's name, a call's input and a text that every provider takes.
 *
 * - An id has 1 to 64 of the characters A-Z a-z 0-9 _ - (Anthropic, OpenAI, Bedrock).
 * - A name has the same, and begins with a letter or `_` (Gemini).
 * - An input is an object (Anthropic, Bedrock), of at most 1,048,576 characters (OpenAI).
 * - A text is well formed, because strict parsers refuse a request with half a surrogate pair.
 *
 * One value in, its accepted form out, and the same value where it is accepted. Each form depends on the value alone. So it is the same in
 * every view, and the prefix of a prompt stays.
 */
import { cutMiddle } from "../draft/render.ts";
import { hashId, jsonText, textLength } from "../message/message.ts";

const ID = /^[\w-]{1,64}$/;
const NAME = /^[a-z_][\w-]{0,63}$/i;
const NOT_TAKEN = /[^\w-]+/g;
const MAX_NAME_CHARS = 64;
/** Characters of an id to which a mark may be added. */
const MARKABLE_CHARS = 54;
/** Characters that stay of an id before its hash. */
const READABLE_CHARS = 40;
/** Tells apart calls that were stored with one id. */
const MARK = "__again";
const MARKED = /__again\d+$/;
/** A call whose name has no character that providers take. */
const NAMELESS = "unnamed_tool";
/** The field of an input that is no object. */
const INPUT_FIELD = "input";

/** Characters of a call's input that OpenAI takes, with some reserve, and of what is sent of a longer one, each of which JSON may write as six. */
const MOST_INPUT_CHARS = 1_000_000;
const INPUT_CHARS = 150_000;

export function acceptedId(id: string): string {
  return ID.test(id) ? id : markable(id);
}

/** An accepted id that none of `used` is. Some models number their calls anew in each turn, and providers refuse that. */
export function unusedId(id: string, used: ReadonlySet<string>): string {
  let candidate = acceptedId(id);
  for (let n = 2; used.has(candidate); n++) candidate = `${markable(id)}${MARK}${n}`;
  return candidate;
}

/** A call's id without the mark of {@link unusedId}. */
function withoutMark(id: string): string {
  return id.replace(MARKED, "");
}

/** The same for a stored id and for each form of it in a view. */
export function callKey(id: string): string {
  return markable(withoutMark(id));
}

function markable(id: string): string {
  if (ID.test(id) && id.length <= MARKABLE_CHARS) return id;
  return `${id.replaceAll(NOT_TAKEN, "_").slice(0, READABLE_CHARS)}-${hashId(id).toString(36)}`;
}

export function acceptedName(name: string): string {
  if (NAME.test(name)) return name;
  const clean = name.replaceAll(NOT_TAKEN, "_");
  if (!/[a-z0-9]/i.test(clean)) return NAMELESS;
  return (/^[a-z_]/i.test(clean) ? clean : `_${clean}`).slice(0, MAX_NAME_CHARS);
}

/** A model's malformed input is stored as the text that it wrote. */
export function acceptedInput(input: unknown): unknown {
  const value = typeof input === "string" ? parsed(input) : input;
  if (value === undefined || value === null) return {};
  if (textLength(value) > INPUT_CHARS) {
    const told = jsonText(value);
    if (told.length > MOST_INPUT_CHARS) return { [INPUT_FIELD]: cutMiddle(told, INPUT_CHARS) };
  }
  return isRecord(value) ? value : { [INPUT_FIELD]: value };
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : text;
  } catch {
    return text;
  }
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value with every half of a surrogate pair in it replaced by U+FFFD. Returns the same value where there is none. */
export function wellFormed(value: unknown): unknown {
  return isWellFormed(value) ? value : rewritten(value);
}

/** Copies nothing, because each read of a view asks it of each output. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  for (const key in value) {
    if (!key.isWellFormed() || !isWellFormed((value as Record<string, unknown>)[key])) return false;
  }
  return true;
}

function rewritten(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(rewritten);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key.toWellFormed(), rewritten(each)]));
}
