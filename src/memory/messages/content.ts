/**
 * Encodes a message into its stored form and decodes it again.
 *
 * A value that would not survive the round trip is refused before anything is written. All else is measured, digested
 * and split. The round trip is exact, but for a negative zero, which comes back as 0. {@link checkPlain}
 * accepts only values that `JSON.stringify` keeps (it escapes NUL and lone surrogates itself), and pieces are cut between code points.
 */
import type { UIMessage } from "ai";
import { errorCode, PalimpsestError } from "../../errors.ts";
import { MAX_ID_CHARS, MESSAGE_MAX_BYTES, ROW_MAX_BYTES } from "../../limits.ts";
import { digest, sumDigests } from "../../steps/text/digest.ts";
import { measureMessage, type CountTokens, type Measure, messageSteps } from "../../steps/message/message.ts";
import type { ContentRow, Statements } from "../statements.ts";

/** The most characters of a message's facts (its steps and tool calls), which share a row with the content. */
const FACTS_MAX_CHARS = 100_000;

/** The deepest nesting that every JSON parser on the way can follow. */
const MAX_DEPTH = 500;

/** The facts that planning needs of a message without its content. */
export interface PlanningFacts extends Omit<Measure, "tokens"> {
  /** A digest of each step's parts. Those of a span add up to the span's digest, whatever covers it. */
  readonly digests: readonly string[];
}

export interface Encoded {
  readonly id: string;
  readonly role: string;
  readonly tokens: number;
  readonly bytes: number;
  /** The digest of the exact content, with all that is no part. */
  readonly digest: string;
  readonly facts: string;
  /** The JSON in pieces that each fit into a row, nearly always one. Empty where a host keeps the content. */
  readonly pieces: readonly string[];
}

/** Throws `invalid_message` unless the value has the shape of a UIMessage. Does not look into its parts. */
export function checkShape(message: UIMessage): void {
  const { id, role, parts } = (message ?? {}) as Partial<UIMessage>;
  if (typeof id !== "string" || id === "" || id.length > MAX_ID_CHARS || !id.isWellFormed()) {
    throw invalid(
      `A message id is a string of 1 to ${MAX_ID_CHARS} characters of valid Unicode; this one is ${show(id)}.`,
    );
  }
  if (role !== "system" && role !== "user" && role !== "assistant") {
    throw invalid(`Message ${show(id)} has the role ${show(role)}. Use "system", "user" or "assistant".`);
  }
  if (!Array.isArray(parts) || !parts.every((part) => typeof (part as { type?: unknown } | null)?.type === "string")) {
    throw invalid(`Message ${show(id)} needs "parts": an array of objects that each have a "type".`);
  }
}

/**
 * Encodes a message for our own store. Throws `invalid_message`, `not_serializable` (naming the path) or
 * `message_too_large`.
 */
export function encodeMessage(message: UIMessage, countTokens: CountTokens): Encoded {
  checkShape(message);
  const budget = { left: MESSAGE_MAX_BYTES };
  checkPlain(message, { key: "", above: new Set(), up: null, depth: 0, messageId: message.id, budget });
  const { bytes, pieces } = splitUtf8(JSON.stringify(message), ROW_MAX_BYTES);
  if (bytes > MESSAGE_MAX_BYTES) throw tooLarge(message.id);
  return { ...measured(message, countTokens), bytes, pieces };
}

/**
 * Encodes a message whose content a host keeps, so that planning can work without reading the content. Throws
 * `invalid_message`, `message_too_large`.
 */
export function encodeHosted(message: UIMessage, countTokens: CountTokens): Encoded {
  checkShape(message);
  return { ...measured(message, countTokens), bytes: utf8Length(JSON.stringify(message)), pieces: [] };
}

function measured(message: UIMessage, countTokens: CountTokens): Omit<Encoded, "bytes" | "pieces"> {
  const { id, role } = message;
  const { tokens, ...measures } = measure(message, countTokens);
  const digests = stepDigests(message);
  const facts = factsJson(message, { ...measures, digests });
  return { id, role, tokens, digest: messageDigest(message, digests), facts };
}

function stepDigests(message: UIMessage): string[] {
  const { id, role } = message;
  return messageSteps(message).map((parts, step) => digest(id, role, `${step}`, JSON.stringify(parts)));
}

/** The digest of a message's exact content. */
export function messageDigest(message: UIMessage, digests = stepDigests(message)): string {
  const { parts: _parts, ...rest } = message;
  return digest(JSON.stringify(rest), ...digests);
}

/** The digest of some steps of a message. It stays the same while the message grows behind them. */
export function digestOfSteps({ digests }: PlanningFacts, { fromStep, toStep }: Steps): string {
  return sumDigests(digests.slice(fromStep, toStep + 1));
}

/** A part of a message, from its first step to its last. */
export interface Steps {
  readonly fromStep: number;
  readonly toStep: number;
}

function factsJson(message: UIMessage, facts: PlanningFacts): string {
  const json = JSON.stringify(facts);
  if (json.length <= FACTS_MAX_CHARS) return json;
  throw new PalimpsestError(
    "message_too_large",
    `Message ${show(message.id)} has ${facts.steps.length} steps and ${facts.calls.length + facts.results.length} tool parts, too many for one. Start a new one for each turn.`,
  );
}

/** Replaces a message whose row was damaged from outside, so that one bad row does not break the whole conversation. */
const UNREADABLE = "[This message cannot be read: its stored row is damaged.]";

/** Rebuilds the stored message from its pieces, under the id and role of its row. */
export function decodeMessage(
  pieces: readonly string[],
  row: { readonly id: string; readonly role: string },
): UIMessage {
  try {
    return JSON.parse(pieces.length === 1 ? (pieces[0] ?? "") : pieces.join("")) as UIMessage;
  } catch {
    return { id: row.id, role: row.role as UIMessage["role"], parts: [{ type: "text", text: UNREADABLE }] };
  }
}

/** Trusts the facts as stored, because {@link encodeMessage} wrote them. */
export function parseFacts(facts: string): PlanningFacts {
  return JSON.parse(facts) as PlanningFacts;
}

/** UTF-8 bytes of a text. */
export function utf8Length(text: string): number {
  return splitUtf8(text, Number.POSITIVE_INFINITY).bytes;
}

/** Cuts a text between code points into pieces of at most `maxBytes` UTF-8 bytes. One pass, and no copy when it fits. */
export function splitUtf8(text: string, maxBytes: number): { bytes: number; pieces: [string, ...string[]] } {
  const pieces: string[] = [];
  let start = 0;
  let before = 0;
  let bytes = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    const pair = unit >= 0xd800 && unit < 0xdc00 && at + 1 < text.length;
    const width = unit < 0x80 ? 1 : unit < 0x800 ? 2 : pair ? 4 : 3;
    if (bytes - before + width > maxBytes) {
      pieces.push(text.slice(start, at));
      start = at;
      before = bytes;
    }
    bytes += width;
    if (pair) at++;
  }
  const last = start === 0 ? text : text.slice(start);
  const [first, ...rest] = [...pieces, last];
  return { bytes, pieces: [first ?? last, ...rest] };
}

function measure(message: UIMessage, countTokens: CountTokens): Measure {
  try {
    return measureMessage(message, countTokens);
  } catch (cause) {
    // A caller's token counter may fail with an error of its own, which is passed on unchanged.
    if (errorCode(cause) !== undefined) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PalimpsestError(
      "invalid_message",
      `Message ${show(message.id)} has a part that cannot be measured: ${why}`,
      {
        cause,
      },
    );
  }
}

/** The position of the check, as a chain back to the message. */
interface Visit {
  readonly key: string | number;
  /** The objects and arrays that hold this value. The whole visit shares the set, so a look costs the same at any depth. */
  readonly above: Set<object>;
  readonly up: Visit | null;
  readonly depth: number;
  readonly messageId: string;
  /** Bytes that the message may still have. The whole visit shares the budget, so that a hostile graph ends it early. */
  readonly budget: { left: number };
}

/** Throws `not_serializable` for the first value that JSON would drop or change. An absent property stays absent. */
function checkPlain(value: unknown, visit: Visit): void {
  spend(visit.budget, value, visit.messageId);
  if (isPlain(value)) return;
  if (typeof value !== "object" || value === null)
    throw notSerializable(visit, typeof value === "number" ? String(value) : typeof value);
  checkHolder(value, visit);
  const { above, budget, depth, messageId } = visit;
  above.add(value);
  const checkInside = (key: string | number, each: unknown): void => {
    // A large message consists mostly of strings and numbers, and the check of those needs no chain of visits.
    if (isPlain(each)) spend(budget, each, messageId);
    else checkPlain(each, { key, above, up: visit, depth: depth + 1, messageId, budget });
  };
  if (Array.isArray(value)) {
    for (let key = 0; key < value.length; key++) checkInside(key, value[key]);
  } else {
    for (const key of Object.keys(value)) {
      const each = (value as Record<string, unknown>)[key];
      if (each === undefined) continue;
      budget.left -= key.length + 3;
      checkInside(key, each);
    }
  }
  above.delete(value);
}

/** Bytes of any value on its way to another object. A message that is stored must be one that can be read there. */
const LEAST_VALUE_BYTES = 8;

function spend(budget: Visit["budget"], value: unknown, messageId: string): void {
  budget.left -= Math.max(LEAST_VALUE_BYTES, typeof value === "string" ? value.length + 2 : 1);
  if (budget.left < 0) throw tooLarge(messageId);
}

/** True for a value without inner values that JSON keeps unchanged. */
function isPlain(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  return typeof value === "number" && Number.isFinite(value);
}

/** Throws `not_serializable` unless this is an array or a plain object that does not contain itself. */
function checkHolder(value: object, visit: Visit): void {
  if (visit.above.has(value)) throw notSerializable(visit, "a cycle");
  if (visit.depth >= MAX_DEPTH) throw notSerializable(visit, `nesting deeper than ${MAX_DEPTH}`);
  if (Array.isArray(value)) return;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw notSerializable(visit, `an instance of ${value.constructor.name || "a class"}`);
  }
  if (Object.getOwnPropertySymbols(value).length > 0) throw notSerializable(visit, "an object with symbol keys");
}

function notSerializable(visit: Visit, what: string): PalimpsestError {
  let path = "";
  for (let at = visit; at.up !== null; at = at.up) path = `${pathKey(at.key)}${path}`;
  return new PalimpsestError(
    "not_serializable",
    `Message ${show(visit.messageId)} holds ${what} at ${path.replace(/^\./, "") || "its root"}, which JSON cannot keep.`,
  );
}

function pathKey(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function tooLarge(id: string): PalimpsestError {
  return new PalimpsestError(
    "message_too_large",
    `Message ${show(id)} is larger than ${MESSAGE_MAX_BYTES} bytes of JSON, or has more than ${MESSAGE_MAX_BYTES / LEAST_VALUE_BYTES} values. Store files elsewhere and give their address.`,
  );
}

function invalid(text: string): PalimpsestError {
  return new PalimpsestError("invalid_message", text);
}

function show(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(value) : typeof value;
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** The value of `parts` for a row whose content a host keeps. */
export const HOSTED = 0;
/** The value of `parts` for a row whose message the host pruned. The row keeps its place and digest for overlays above it. */
export const PRUNED = -1;

/** True for a pruned row, which holds a place and shows nothing. */
export function isPruned({ parts }: { readonly parts: number }): boolean {
  return parts === PRUNED;
}

/** The columns that a read needs. */
export type ReadableRow = Pick<ContentRow, "seq" | "id" | "role" | "parts" | "content" | "digest">;

/**
 * Reads the content of rows, from our own store or from a host that keeps the messages.
 *
 * Reads are synchronous. A read of content that a host must deliver first throws {@link NotAtHand}. The outermost caller then fetches it and
 * repeats the read (`Core.read`). Each message from a host is checked against the digest of its row, so a missed change is noticed before
 * anything is derived from it.
 */
export interface Contents {
  /** The name of the host that keeps the messages. Null for our own store. */
  readonly host: string | null;
  /** Throws {@link NotAtHand} with all ids that must be fetched before the rows can be read. */
  need(rows: readonly ReadableRow[]): void;
  read(row: ReadableRow): UIMessage;
}

/** Content must be fetched from the host first. Never leaves the package, because the reader of a hosted session fetches it. */
export class NotAtHand extends Error {
  override readonly name = "NotAtHand";
  readonly ids: readonly string[];

  constructor(ids: readonly string[]) {
    super(`${ids.length} messages are to be fetched from their host first.`);
    this.ids = ids;
  }
}

/** The host's message differs from its row, so a change was missed. Never leaves the package. */
export class HostDiffers extends Error {
  override readonly name = "HostDiffers";
  readonly id: string;

  constructor(id: string) {
    super(`Message "${id}" is not what the index says of it.`);
    this.id = id;
  }
}

/** Whether to repeat a read after asking the host. */
export function isToBeReadAgain(error: unknown): error is NotAtHand | HostDiffers {
  return error instanceof NotAtHand || error instanceof HostDiffers;
}

/** Our own store. The content stands in the row, and in further rows where it was split. */
export class StoredContents implements Contents {
  readonly host = null;
  readonly #sql: Statements;
  readonly #sessionId: string;

  constructor(sql: Statements, sessionId: string) {
    this.#sql = sql;
    this.#sessionId = sessionId;
  }

  need(): void {}

  read(row: Omit<ReadableRow, "digest">): UIMessage {
    if (row.parts === 1) return decodeMessage([row.content], row);
    const rest = this.#sql.messageParts(this.#sessionId, row.seq).map((piece) => piece.content);
    return decodeMessage([row.content, ...rest], row);
  }
}
