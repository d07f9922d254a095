/**
 * Splits a text into JSON values with a place each, and makes every error of an import.
 *
 * It finds the values of a file (one JSON document, an array, or one value a line) and checks each against a schema. It knows no format.
 * Nothing is returned before every value passed, so a file is imported whole or not at all. Limits bound the entries, the bad entries and
 * the characters of a value that is parsed at once.
 */
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import type { Pace, Slices } from "../steps/text/slices.ts";
import { importPace } from "./pace.ts";

/**
 * Most entries of one import. All are in memory at once and are stored in one transaction, which blocks other calls for seconds. Storing
 * them in pieces would write each row twice, first where no reader looks.
 */
export const MAX_IMPORT_ENTRIES = 50_000;

/**
 * Most characters of one JSON value in an import (a line or a whole document), because parsing it blocks other calls. The largest message
 * fits with its wrapping, so every export can be imported again.
 */
export const MAX_IMPORT_VALUE_CHARS = 18_000_000;

/** Bad entries after which an import stops reading. A person fixes their cause, not each entry. */
export const MAX_BAD_ENTRIES = 1_000;

/** A JSON value with its place for people, such as `line 17`, `item 3` or `item 3, message 5`. */
export interface Item {
  readonly place: string;
  readonly value: unknown;
  /** Approximate number of characters in the file. */
  readonly size: number;
}

const REPORTED_PROBLEMS = 5;

/** Creates an `import_failed` error. The reason begins with its place. */
export function importFailed(problem: string): PalimpsestError {
  return new PalimpsestError("import_failed", problem);
}

/** The bad entries of a file. The first ones are described, the others only counted. */
class Problems {
  readonly #first: string[] = [];
  #count = 0;

  /** Throws `import_failed` once there are so many that further reading shows nothing new. */
  add(place: string, reason: () => string): void {
    this.#count++;
    if (this.#first.length < REPORTED_PROBLEMS) this.#first.push(`${place}: ${reason()}`);
    if (this.#count < MAX_BAD_ENTRIES) return;
    const more = MAX_BAD_ENTRIES - REPORTED_PROBLEMS;
    throw importFailed([...this.#first, `and at least ${more} more: reading stopped at ${place}`].join("; "));
  }

  /** Throws `import_failed` when there are any. */
  end(): void {
    if (this.#count === 0) return;
    const more = this.#count - this.#first.length;
    throw importFailed([...this.#first, ...(more > 0 ? [`and ${more} more`] : [])].join("; "));
  }
}

/** Yields the values of `text`, which is a JSON array, one JSON document, or one value a line. Throws `import_failed`. */
export function* readItems(text: string): Slices<Item[]> {
  const source = text.replace(/^\uFEFF/, "");
  if (source.trim() === "") throw importFailed("The text is empty: there is nothing to import");
  const document = (yield* readArray(source)) ?? readDocument(source);
  if (document !== null) return document;
  const pace = importPace();
  const items: Item[] = [];
  const problems = new Problems();
  let number = 0;
  for (const line of linesOf(source)) {
    number++;
    if (line.trim() === "") {
      if (pace.isOver(line.length + 1)) yield;
      continue;
    }
    const place = `line ${number}`;
    const parsed: Parsed =
      line.length > MAX_IMPORT_VALUE_CHARS ? { ok: false, reason: tooLong(line.length) } : parseJson(line);
    if (parsed.ok) items.push({ place, value: parsed.value, size: line.length });
    else problems.add(place, () => parsed.reason);
    checkCount(items.length);
    if (pace.isOverEntry(line.length)) yield;
  }
  problems.end();
  return items;
}

/**
 * Returns the elements of a text that is one JSON array, or null for any other text. The text is split at the commas between elements, so no
 * list is parsed whole before its length is known. Throws `import_failed` for more elements than one import takes.
 */
function* readArray(source: string): Slices<Item[] | null> {
  const from = source.search(/\S/);
  if (source[from] !== "[" || source.length - from > MAX_IMPORT_VALUE_CHARS) return null;
  const pace = importPace();
  const items: Item[] = [];
  for (let at = from + 1; ;) {
    const end = yield* endOfElement(source, at, pace);
    if (end === null) return null;
    const element = source.slice(at, end);
    const isLast = source[end] === "]";
    const isEmptyList = isLast && items.length === 0 && element.trim() === "";
    if (!isEmptyList) {
      checkCount(items.length + 1);
      const parsed = element.length > MAX_IMPORT_VALUE_CHARS ? null : parseJson(element);
      if (parsed?.ok !== true) return null;
      items.push({ place: `item ${items.length + 1}`, value: parsed.value, size: element.length });
      if (pace.isOverEntry(element.length)) yield;
    }
    if (isLast) return source.slice(end + 1).trim() === "" ? items : null;
    at = end + 1;
  }
}

const BRACKET_OR_STRING = /[[\]{},"]/g;
const END_OF_STRING = /["\\]/g;

/** Returns the place of the comma or bracket behind an array's element, or null where there is none. */
function* endOfElement(source: string, from: number, pace: Pace): Slices<number | null> {
  let depth = 0;
  for (let at = from; ;) {
    BRACKET_OR_STRING.lastIndex = at;
    const found = BRACKET_OR_STRING.exec(source);
    if (found === null) return null;
    const { 0: sign, index } = found;
    if (depth === 0 && (sign === "," || sign === "]")) return index;
    if (pace.isOver(index - at + 1)) yield;
    at = sign === '"' ? endOfString(source, index + 1) : index + 1;
    if (sign === "[" || sign === "{") depth++;
    else if (sign === "]" || sign === "}") depth--;
    if (depth < 0) return null;
  }
}

/** Returns the place behind a string's closing quote, or the text's end where there is none. */
function endOfString(source: string, from: number): number {
  for (let at = from; ;) {
    END_OF_STRING.lastIndex = at;
    const found = END_OF_STRING.exec(source);
    if (found === null) return source.length;
    if (found[0] === '"') return found.index + 1;
    at = found.index + 2;
  }
}

/**
 * Returns the values of a text that is one JSON document, or null for one of lines. Throws `import_failed` for a document that is too long.
 */
function readDocument(source: string): Item[] | null {
  const size = source.length;
  if (size > MAX_IMPORT_VALUE_CHARS && source.trim().length > MAX_IMPORT_VALUE_CHARS) {
    // A bracket alone on the first line begins a document of many lines.
    if (/^\s*[[{][^\S\n]*\n/.test(source)) throw importFailed(`The document has ${tooLong(size)}`);
    return null;
  }
  const parsed = parseJson(source);
  if (!parsed.ok) return null;
  return [{ place: "line 1", value: parsed.value, size }];
}

function tooLong(chars: number): string {
  return `${chars} characters, and ${MAX_IMPORT_VALUE_CHARS} are read in one go: write a list of messages one a line`;
}

/** Throws `import_failed` for more entries than one import takes. */
export function checkCount(entries: number): void {
  if (entries <= MAX_IMPORT_ENTRIES) return;
  throw importFailed(
    `The text holds more than ${MAX_IMPORT_ENTRIES} entries. Cut it, and import one part after the other`,
  );
}

/** Returns every item in the shape of `schema`. Otherwise throws one `import_failed` that names the items that do not fit. */
export function* parseItems<T>(items: readonly Item[], schema: z.ZodType<T>, format: string): Slices<T[]> {
  const pace = importPace();
  const parsed: T[] = [];
  const problems = new Problems();
  for (const { place, value, size } of items) {
    const result = schema.safeParse(value);
    if (result.success) parsed.push(result.data);
    else problems.add(place, () => `${reasonOf(result.error)} (format ${format})`);
    if (pace.isOverEntry(size)) yield;
  }
  problems.end();
  return parsed;
}

/**
 * Selects a schema by a value's `type` or `role`, like an open discriminated union. `pick` also answers for names that it does not know, so
 * that such values are kept and not refused.
 */
export function choose<T>(key: "type" | "role", pick: (name: string) => z.ZodType<T>): z.ZodType<T> {
  return z
    .looseObject({ [key]: z.string() })
    .transform((value, context): T => parseInside(pick(String(value[key])), value, context));
}

/** Parses with `schema` inside another schema's transform, and reports problems as the outer schema's. */
export function parseInside<T>(schema: z.ZodType<T>, value: unknown, context: z.core.$RefinementCtx): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const { message, path } of result.error.issues) context.addIssue({ code: "custom", message, path: [...path] });
  return z.NEVER;
}

/** Parses an array up to its first bad element. A list of a million bad elements is thus one problem. */
export function list<T>(element: z.ZodType<T>): z.ZodType<T[]> {
  return z.array(z.unknown()).transform((values, context): T[] => {
    const parsed: T[] = [];
    for (const [index, value] of values.entries()) {
      const result = element.safeParse(value);
      if (!result.success) {
        const { message = "does not fit", path = [] } = result.error.issues[0] ?? {};
        context.addIssue({ code: "custom", message, path: [index, ...path] });
        return z.NEVER;
      }
      parsed.push(result.data);
    }
    return parsed;
  });
}

/** Milliseconds since 1970, parsed from a number of milliseconds or an ISO date. */
export const timestamp = z
  .union([z.number(), z.string()])
  .transform((value) => (typeof value === "number" ? value : Date.parse(value)))
  .refine(Number.isFinite, "is not a date");

/** True for a JSON object that is neither an array nor null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Yields lines one by one, because a text may have a million of them. */
function* linesOf(text: string): Generator<string> {
  for (let from = 0; from <= text.length;) {
    const found = text.indexOf("\n", from);
    const end = found < 0 ? text.length : found;
    yield text.slice(from, end);
    from = end + 1;
  }
}

function reasonOf(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "does not fit";
  const path = issue.path.map(String).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}

type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

function parseJson(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    // The engine's message quotes the input. Only its first words are kept, never the content.
    const reason = error instanceof Error ? error.message.replace(/,? ?(?:"|\.\.\.).*$/s, "") : "unreadable";
    return { ok: false, reason: `not JSON (${reason})` };
  }
}
