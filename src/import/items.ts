/**
 * Splits a text into JSON values with a place each, reads their fields, and makes every error of an import.
 *
 * Nothing is returned before every value was read, so a file is imported whole or not at all. Limits bound the entries, the bad entries and the
 * characters of a value that is parsed at once.
 */
import { PalimpsestError } from "../errors.ts";
import { Pace, type Slices } from "../steps/text/text.ts";

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
const REPORTED_PROBLEMS = 5;

/** Characters of an import that are read at once, some ten milliseconds' worth. The second number is added for each entry. */
const PIECE_CHARS = 200_000;
const ENTRY_CHARS = 200;

/** The number of characters of a file that are read before the agent answers other calls. */
export function importPace(): Pace {
  return new Pace(PIECE_CHARS, ENTRY_CHARS);
}

/** Creates an `import_failed` error. The reason begins with its place. */
export function importFailed(problem: string): PalimpsestError {
  return new PalimpsestError("import_failed", problem);
}

/** Throws `import_failed` for more entries than one import takes. */
export function checkCount(entries: number): void {
  if (entries <= MAX_IMPORT_ENTRIES) return;
  throw importFailed(
    `The text holds more than ${MAX_IMPORT_ENTRIES} entries. Cut it, and import one part after the other`,
  );
}

/** A JSON value with its place for people, such as `line 17`, `item 3` or `item 3, message 5`. */
export interface Item {
  readonly place: string;
  readonly value: unknown;
  /** Approximate number of characters in the file. */
  readonly size: number;
}

/** The bad entries of a file. The first ones are described, the others only counted. */
class Problems {
  readonly #first: string[] = [];
  #count = 0;

  /** Throws `import_failed` once there are so many that further reading shows nothing new. */
  add(place: string, reason: string): void {
    this.#count++;
    if (this.#first.length < REPORTED_PROBLEMS) this.#first.push(`${place}: ${reason}`);
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

/** Returns what `read` makes of every item. Otherwise throws one `import_failed` that names the items that do not fit. */
export function* readEach<T>(items: readonly Item[], read: (value: unknown) => T, format: string): Slices<T[]> {
  const pace = importPace();
  const found: T[] = [];
  const problems = new Problems();
  for (const { place, value, size } of items) {
    const result = attempt(() => read(value));
    if (result instanceof Misfit) problems.add(place, `${result.message} (format ${format})`);
    else found.push(result);
    if (pace.isOverEntry(size)) yield;
  }
  problems.end();
  return found;
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
    const value = line.length > MAX_IMPORT_VALUE_CHARS ? new Misfit(tooLong(line.length)) : parseJson(line);
    if (value instanceof Misfit) problems.add(place, value.message);
    else items.push({ place, value, size: line.length });
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
      const value = parseJson(element);
      if (value instanceof Misfit) return null;
      items.push({ place: `item ${items.length + 1}`, value, size: element.length });
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

/** Returns the value of a text that is one JSON document, or null for one of lines. Throws `import_failed` for one that is too long. */
function readDocument(source: string): Item[] | null {
  const size = source.length;
  if (size > MAX_IMPORT_VALUE_CHARS && source.trim().length > MAX_IMPORT_VALUE_CHARS) {
    // A bracket alone on the first line begins a document of many lines.
    if (/^\s*[[{][^\S\n]*\n/.test(source)) throw importFailed(`The document has ${tooLong(size)}`);
    return null;
  }
  const value = parseJson(source);
  return value instanceof Misfit ? null : [{ place: "line 1", value, size }];
}

function tooLong(chars: number): string {
  return `${chars} characters, and ${MAX_IMPORT_VALUE_CHARS} are read in one go: write a list of messages one a line`;
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The engine's message quotes the input. Only its first words are kept, never the content.
    const reason = error instanceof Error ? error.message.replace(/,? ?(?:"|\.\.\.).*$/s, "") : "unreadable";
    return new Misfit(`not JSON (${reason})`);
  }
}

/** True for a JSON object that is neither an array nor null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value that does not have the shape of its format. The message names the field, and never its content. */
export class Misfit extends Error {
  constructor(reason: string, path = "") {
    super(path === "" ? reason : `${path}: ${reason}`);
  }
}

/** Returns what `read` returns, or the misfit that it throws. */
export function attempt<T>(read: () => T): T | Misfit {
  try {
    return read();
  } catch (error) {
    if (error instanceof Misfit) return error;
    throw error;
  }
}

/** Reads the fields of an object from a file. A field of another type than asked throws a {@link Misfit}, and null counts as absent. */
export class Fields {
  readonly all: Readonly<Record<string, unknown>>;
  readonly #path: string;

  constructor(value: unknown, path = "") {
    if (!isRecord(value)) throw new Misfit("is no object", path);
    this.all = value;
    this.#path = path;
  }

  /** The field's value, or null. */
  get(key: string): unknown {
    return (Object.hasOwn(this.all, key) ? this.all[key] : null) ?? null;
  }

  has(key: string): boolean {
    return this.get(key) !== null;
  }

  text(key: string): string {
    return this.maybeText(key) ?? this.fail(key, "is missing");
  }

  maybeText(key: string): string | null {
    const value = this.get(key);
    return value === null || typeof value === "string" ? value : this.fail(key, "is no text");
  }

  number(key: string): number {
    return this.maybeNumber(key) ?? this.fail(key, "is missing");
  }

  maybeNumber(key: string): number | null {
    const value = this.get(key);
    return value === null || typeof value === "number" ? value : this.fail(key, "is no number");
  }

  fields(key: string): Fields {
    return new Fields(this.get(key), this.path(key));
  }

  maybeFields(key: string): Fields | null {
    return this.has(key) ? this.fields(key) : null;
  }

  url(key: string): string {
    const url = this.text(key).trim();
    return URL.canParse(url) ? url : this.fail(key, "is no URL");
  }

  /** Milliseconds since 1970 of a number of milliseconds or an ISO date. */
  time(key: string): number | null {
    const value = this.get(key);
    const time = typeof value === "string" ? Date.parse(value) : value;
    return time === null || (typeof time === "number" && Number.isFinite(time)) ? time : this.fail(key, "is no date");
  }

  oneOf<const Value extends string>(key: string, values: readonly Value[]): Value {
    const value = this.text(key);
    return values.find((each) => each === value) ?? this.fail(key, `is none of ${values.join(", ")}`);
  }

  /** Reads the objects of a list up to the first bad one, so a list of a million bad ones is one problem. */
  list<T>(key: string, read: (element: Fields) => T): T[] {
    const value = this.get(key);
    if (!Array.isArray(value)) return this.fail(key, "is no list");
    return value.map((element: unknown, at) => read(new Fields(element, `${this.path(key)}.${at}`)));
  }

  /** The fields without those of the names. */
  without(...names: readonly string[]): Record<string, unknown> {
    return Object.fromEntries(Object.entries(this.all).filter(([key]) => !names.includes(key)));
  }

  fail(key: string, reason: string): never {
    throw new Misfit(reason, this.path(key));
  }

  path(key: string): string {
    return this.#path === "" ? key : `${this.#path}.${key}`;
  }
}

/** When a message was said (epoch ms), by a time or by metadata that has one. Undefined for one that cannot have been. */
export function timeSaid(given: unknown, now: number): number | undefined {
  const time = isRecord(given) ? given["createdAt"] : given;
  return Number.isSafeInteger(time) && Number(time) > 0 && Number(time) <= now ? Number(time) : undefined;
}
