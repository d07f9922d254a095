/**
 * The sessions of one agent: their rows, their lineage, and operations on a whole session.
 *
 * Creates, lists, names, copies and deletes sessions. {@link History} owns the messages of a session. A session that
 * nobody created gets its row when its first message is stored.
 *
 * S2: delete is one transaction over every table of this room that has rows of the session. Two lists name those
 * tables: `Statements.clearSession` for content, and `SessionStatements.deleteSession` for the rest.
 */
import { inWords, PalimpsestError } from "../../errors.ts";
import { checkWhole } from "../../known-fields.ts";
import { MAX_NAME_CHARS, MAX_PAGE } from "../../limits.ts";
import { type CountTokens, titleOf } from "../../steps/message/message.ts";
import { HOSTED, StoredContents } from "../messages/content.ts";
import type { Draft } from "../drafts.ts";
import type { History } from "../messages/history.ts";
import { findEarlier, findNewest, SessionStatements, type SessionRow, type Stretch } from "./statements.ts";
import type { Db } from "../db.ts";
import { seedSession, type Seed } from "../messages/seed.ts";
import type { Statements } from "../statements.ts";
import { Tree } from "../messages/tree.ts";

/** What is known of a session without reading its messages. */
export interface SessionInfo {
  /** The default session is `""`. */
  readonly id: string;
  /** The given name, or else the beginning of its first user message, with a mark for a fork. Null while there is neither. */
  readonly name: string | null;
  /** Epoch ms. */
  readonly createdAt: number;
  /** When the newest remaining message was stored, epoch ms. */
  readonly lastMessageAt: number | null;
  /** The session that it was forked or split from. Also null when that one was deleted. */
  readonly parentSessionId: string | null;
  /** The model that was named when it was made. For the caller alone. */
  readonly model: string | null;
  /**
   * Its origin in the caller's words, which a fork and a continuation have from their parent. Without any it is `fork` for a fork and
   * `split` for one that continues an ended session.
   */
  readonly source: string | null;
  /** As it was given when the session was created. A fork and a continuation have their parent's. */
  readonly metadata: SessionMetadata | null;
  /** Sums of the calls to `recordUsage` and `addUsage`. */
  readonly inputTokens: number;
  /** Tokens that models wrote in those calls. */
  readonly outputTokens: number;
  /** Money, in the unit that the caller gave. */
  readonly cost: number;
  /** Epoch ms. Null while the session goes on. */
  readonly endedAt: number | null;
  /** `compaction` when the session was split. */
  readonly endReason: string | null;
  /** The session that continues an ended one. Also null when that one was deleted. */
  readonly continuedBy: string | null;
}

/** Anything that JSON can hold, under names of the caller's. */
export type SessionMetadata = Readonly<Record<string, unknown>>;

/** What a new session is made with. All of it is optional. */
export interface CreateSessionOptions {
  /** A session that this one belongs to. It must exist. */
  readonly parentSessionId?: string | undefined;
  /** The name of its model, for the caller alone. */
  readonly model?: string | undefined;
  /** Its origin in the words of the caller. */
  readonly source?: string | undefined;
  /** Kept with the session, up to 16,384 characters of JSON. */
  readonly metadata?: SessionMetadata | undefined;
}

/** A page of sessions. */
export interface ListSessionsOptions {
  /** Sessions per page, 1 to 500. */
  readonly limit: number;
  /** `activity`, the default, has the newest message first and reads two rows for each session of the agent. `creation` reads the page alone. */
  readonly order?: "activity" | "creation" | undefined;
  /** The last session of the previous page. */
  readonly before?:
    | (Pick<SessionInfo, "createdAt" | "id"> & { readonly lastMessageAt?: number | null | undefined })
    | undefined;
}

export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cost: number;
}

export interface NextSession extends Pick<Seed, "detailsOf"> {
  readonly id: string;
  readonly name: string | null;
  /** Called in the transaction. `stoodFor` has, for each message of the new session, the last one here that it stands for. */
  readonly continued?: (stoodFor: readonly number[]) => void;
}

export interface SessionsOptions {
  readonly db: Db;
  readonly statements: Statements;
  readonly now: () => number;
  readonly history: (sessionId: string) => History;
  readonly counterOf: (sessionId: string) => CountTokens;
}

/** Characters of a session's metadata. Each list of sessions reads it. */
const MAX_METADATA_CHARS = 16_384;

const NEWEST = { createdAt: Number.MAX_SAFE_INTEGER, lastMessageAt: Number.MAX_SAFE_INTEGER, id: "" };

export class Sessions {
  readonly #sql: SessionStatements;
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#sql = new SessionStatements(options.db);
    this.#options = options;
  }

  /** Makes a session. `id` must be unused. Throws `invalid_input`, `unknown_session` for the parent, `storage_full`. */
  create(id: string, name?: string, options: CreateSessionOptions = {}): SessionInfo {
    this.#options.db.assertStorageLeft();
    this.#insert(id, name, options);
    return this.mustGet(id);
  }

  /** Writes the row of a new session. */
  #insert(id: string, name: string | undefined, options: CreateSessionOptions, copied: Copied | null = null): void {
    const { parentSessionId = null } = options;
    const row = {
      id,
      name: cleanText("name", name),
      createdAt: this.#options.now(),
      parentSessionId,
      model: cleanText("model", options.model),
      source: writeSource(cleanText("source", options.source), copied),
      metadata: writeMetadata(options.metadata),
    };
    if (parentSessionId !== null && !this.#sql.exists(parentSessionId)) throw unknownSession(parentSessionId);
    this.#sql.insertSession(row);
  }

  get(id: string): SessionInfo | null {
    const row = this.#sql.session(id);
    return row === undefined ? null : this.#info(row);
  }

  /** Throws `unknown_session`. */
  mustGet(id: string): SessionInfo {
    const info = this.get(id);
    if (info === null) throw unknownSession(id);
    return info;
  }

  /**
   * Newest first. Reads two rows per session, whatever its size. An unnamed session of the page costs two more, and
   * two more for each fork that it comes from. Throws `invalid_options`.
   */
  list({ limit, order = "activity", before = NEWEST }: ListSessionsOptions): SessionInfo[] {
    checkWhole("limit", limit, 1, MAX_PAGE);
    if (!Number.isFinite(before.createdAt) || typeof before.id !== "string") {
      throw new PalimpsestError("invalid_options", "before is a session as list() gave it: its createdAt and its id.");
    }
    const { lastMessageAt = this.#sql.session(before.id)?.lastMessageAt } = before;
    const at = order === "creation" ? before.createdAt : (lastMessageAt ?? before.createdAt);
    return this.#sql.sessionsBefore(order, { at, id: before.id }, limit).map((row) => this.#info(row));
  }

  /** Names a session. A blank name brings its title back. Throws `unknown_session`, `invalid_input`. */
  rename(id: string, name: string): SessionInfo {
    const cleaned = cleanText("name", name);
    this.#mustExist(id);
    this.#sql.setName(id, cleaned);
    return this.mustGet(id);
  }

  /**
   * Adds to the session's sums. Throws `unknown_session`, and `invalid_input` for a value that is no number from 0 to
   * 2^53.
   */
  addUsage(id: string, { inputTokens, outputTokens, cost }: Usage): SessionInfo {
    const usage = { inputTokens, outputTokens, cost };
    for (const [field, value] of Object.entries(usage)) {
      // Within these bounds no sum reaches infinity.
      if (typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER) continue;
      throw new PalimpsestError(
        "invalid_input",
        `${field} is ${inWords(value)}: give a number from 0 to ${Number.MAX_SAFE_INTEGER}.`,
      );
    }
    this.#mustExist(id);
    this.#sql.addUsage(id, usage);
    return this.mustGet(id);
  }

  /**
   * Creates a session as a copy of a path: messages with their ids, order, sizes and digests, and the overlays in force
   * that lie wholly on it. For n messages it reads 4 n rows and writes n with their split parts, 4 for each overlay,
   * and 3 more. Throws `unknown_session`, `unknown_message`, `invalid_input`, `storage_full`.
   */
  fork(sessionId: string, copy: { id: string; atMessageId: string; name?: string | undefined }): SessionInfo {
    const { db, statements, now } = this.#options;
    const inherited = inheritedFrom(this.mustGet(sessionId));
    this.#options.history(sessionId).assertOwnsMessages();
    const tree = new Tree(statements, sessionId, now);
    const at = tree.find(copy.atMessageId);
    if (at === null) {
      throw new PalimpsestError(
        "unknown_message",
        `There is no message "${copy.atMessageId}" in session "${sessionId}" to fork at. Give that of a stored message.`,
      );
    }
    db.assertStorageLeft();
    return db.transaction(() => {
      this.#insert(copy.id, copy.name, inherited, "fork");
      for (const stretch of stretches([...tree.pathDown(at.seq, 0)])) {
        this.#sql.copyMessages(sessionId, copy.id, stretch);
        this.#sql.copyActiveOverlays(sessionId, copy.id, stretch);
      }
      db.forget(copy.id);
      new Tree(statements, copy.id, now).flush();
      return this.mustGet(copy.id);
    });
  }

  /**
   * Ends a session and creates the one that continues it. The new one shows the same view (../messages/seed.ts) and takes the old
   * name unless another is given. From then on only the new one accepts messages. Throws `unknown_session`,
   * `session_ended`, `invalid_input`.
   */
  split(sessionId: string, next: NextSession): SessionInfo {
    const { db, statements, now, history, counterOf } = this.#options;
    const inherited = inheritedFrom(this.mustGet(sessionId));
    history(sessionId).assertNotEnded();
    const name = next.name ?? this.#sql.session(sessionId)?.name ?? undefined;
    return db.transaction(() => {
      this.#insert(next.id, name, inherited, "split");
      const [from, to] = [sessionId, next.id].map((id) => new Tree(statements, id, now)) as [Tree, Tree];
      const stoodFor = seedSession({
        from,
        to,
        sql: this.#sql,
        countTokens: counterOf(next.id),
        detailsOf: next.detailsOf,
      });
      this.#sql.endSession(sessionId, { endedAt: now(), endReason: "compaction", continuedBy: next.id });
      for (const id of [sessionId, next.id]) db.forget(id);
      next.continued?.(stoodFor);
      return this.mustGet(next.id);
    });
  }

  /** The newest session of a conversation that was split, or the session itself. Throws `unknown_session`. */
  newestOf(id: string): SessionInfo {
    this.#mustExist(id);
    return this.mustGet(findNewest(this.#options.statements, id));
  }

  /** The session that this one continues after a split. Null for any other session, or when that one was deleted. */
  earlierOf(id: string): string | null {
    return findEarlier(this.#options.statements, id);
  }

  /** The sessions that were forked or split from this one. Reads every session's row. */
  childrenOf(id: string): string[] {
    return this.#sql.children(id);
  }

  /** The sources of the session's own drafts, by draft key. */
  draftSources(id: string): { readonly key: string; readonly source: Draft["source"] }[] {
    return this.#sql.drafts(id).map(({ key, details }) => ({ key, source: (JSON.parse(details) as Draft).source }));
  }

  /**
   * Deletes a session and everything stored in it (S2). Returns false when nothing was stored. Writes each of its rows
   * once, and reads those of the sessions that name it. The first deletion of an agent reads every session's row.
   */
  delete(id: string): boolean {
    const { db, history } = this.#options;
    return db.transaction(() => {
      const before = db.meter.rowsWritten;
      history(id).clear();
      this.#sql.deleteSession(id);
      db.tellForgotten(id, "gone");
      db.forget(id);
      // A session may have blocks before its first message.
      return db.meter.rowsWritten > before;
    });
  }

  #mustExist(id: string): void {
    if (!this.#sql.exists(id)) throw unknownSession(id);
  }

  #info(row: SessionRow): SessionInfo {
    const metadata = row.metadata === null ? null : (JSON.parse(row.metadata) as SessionMetadata);
    const info = { ...row, metadata, source: readSource(row.source) };
    if (row.name !== null) return info;
    const title = this.#title(row.id);
    return { ...info, name: title === null ? null : title + this.#forkMark(row) };
  }

  /** The mark that tells a fork's title from its parent's, because both begin with the same words. */
  #forkMark(row: SessionRow): string {
    let forks = 0;
    for (let each: SessionRow | undefined = row; each !== undefined && isFork(each.source); forks++) {
      each = each.parentSessionId === null ? undefined : this.#sql.session(each.parentSessionId);
    }
    return forks === 0 ? "" : forks === 1 ? " (fork)" : ` (fork ${forks})`;
  }

  /** Derived on each read and never stored, so a title disappears with the message that it was taken from (S2). */
  #title(sessionId: string): string | null {
    const opening = this.#sql.opening(sessionId);
    // A title is read synchronously, so a host cannot be asked for the content.
    if (opening === undefined || opening.parts <= HOSTED) return null;
    return titleOf(new StoredContents(this.#options.statements, sessionId).read(opening));
  }
}

/** A path's `seq` numbers, highest first, as the fewest ranges. */
function stretches(seqs: readonly number[]): Stretch[] {
  const found: { fromSeq: number; toSeq: number }[] = [];
  for (const seq of seqs) {
    const last = found.at(-1);
    if (last !== undefined && last.fromSeq === seq + 1) last.fromSeq = seq;
    else found.push({ fromSeq: seq, toSeq: seq });
  }
  return found;
}

/** What a session that continues another, or begins as its copy, has from it. */
function inheritedFrom({ id, model, metadata, source }: SessionInfo): CreateSessionOptions {
  const own = source === "fork" || source === "split" ? null : source;
  return {
    parentSessionId: id,
    model: model ?? undefined,
    metadata: metadata ?? undefined,
    source: own ?? undefined,
  };
}

/** How a session was made of another one. */
type Copied = "fork" | "split";

/** Both stand in one column, each on a line. The caller's words have one line. */
function writeSource(own: string | null, copied: Copied | null): string | null {
  return copied === null ? own : [copied, ...(own === null ? [] : [own])].join("\n");
}

function readSource(stored: string | null): string | null {
  const [first = null, own = null] = stored?.split("\n") ?? [];
  return own ?? first;
}

function isFork(stored: string | null): boolean {
  return stored?.split("\n", 1)[0] === "fork";
}

/** Throws `invalid_input`. */
function writeMetadata(metadata: SessionMetadata | undefined): string | null {
  if (metadata === undefined) return null;
  let json: string | undefined;
  try {
    json = JSON.stringify(metadata, asGiven);
  } catch {
    // Told below.
  }
  if (json?.startsWith("{") === true && json.length <= MAX_METADATA_CHARS) return json;
  throw new PalimpsestError(
    "invalid_input",
    `A session's metadata is an object of at most ${MAX_METADATA_CHARS} characters of JSON, without values that JSON drops or changes, such as dates.`,
  );
}

/** For `JSON.stringify`. Throws at a value that it would drop or change. A field without a value counts as left out. */
function asGiven(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  const isLeftOut = value === undefined && !Array.isArray(this);
  const isText = typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
  const isPlain = value === null || Array.isArray(value) || isRecord(value);
  if ((isLeftOut || isText || isPlain) && this[key] === value) return value;
  throw new TypeError(`JSON does not hold ${key}.`);
}

function isRecord(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** One line of valid Unicode, or null for none. Throws `invalid_input`. */
export function cleanText(field: string, text: string | undefined): string | null {
  const given: unknown = text ?? "";
  const cleaned = typeof given === "string" ? given.trim() : null;
  if (cleaned !== null && cleaned.length <= MAX_NAME_CHARS && cleaned.isWellFormed() && !/\p{Cc}/u.test(cleaned))
    return cleaned || null;
  throw new PalimpsestError(
    "invalid_input",
    `A session's ${field} is one line of at most ${MAX_NAME_CHARS} characters of valid Unicode.`,
  );
}

function unknownSession(id: string): PalimpsestError {
  return new PalimpsestError("unknown_session", `There is no session "${id}". list() names those that there are.`);
}
