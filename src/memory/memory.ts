/**
 * The memory of one Durable Object: its sessions, over its SQLite.
 *
 * Job: migrate, hand out sessions, and be the one place where transactions are opened. Safe because a transaction is
 * synchronous, so nothing comes between its statements; and because whatever is kept in memory is a copy of rows that
 * is dropped when a transaction throws, so that it can never say what was rolled back.
 */
import { PalimpsestError } from "../errors.ts";
import { MAX_SESSION_ID_CHARS } from "../limits.ts";
import type { CountTokens } from "../steps/measure.ts";
import { Drafts } from "./drafts.ts";
import { History } from "./history.ts";
import { NotesStatements } from "./notes-statements.ts";
import { migrate, type Storage } from "./schema.ts";
import { MessageSearch } from "./search.ts";
import { Sessions } from "./sessions.ts";
import { Statements } from "./statements.ts";
import { Tree } from "./tree.ts";

export interface MemoryOptions {
  /** Epoch ms. */
  readonly now: () => number;
  /** Replaces the built-in token estimate, by session. Stamped on a message when it is stored. */
  readonly countTokens?: (text: string, sessionId: string) => number;
}

export class Memory {
  readonly statements: Statements;
  /** What summaries were made of, by their exact source. */
  readonly drafts: Drafts;
  /** Over the messages of all sessions. */
  readonly search: MessageSearch;
  /** Their rows and lineage; {@link session} is what is said in one. */
  readonly sessions: Sessions;
  readonly #notes: NotesStatements;
  readonly #storage: Storage;
  readonly #options: MemoryOptions;
  readonly #histories = new Map<string, History>();
  readonly #rollbackListeners: (() => void)[] = [];

  /** Brings the database to the current schema. Throws `newer_schema`. */
  constructor(storage: Storage, options: MemoryOptions) {
    migrate(storage);
    this.#storage = storage;
    this.#options = options;
    this.statements = new Statements(storage.sql);
    this.#notes = new NotesStatements(storage.sql, this.statements.meter);
    this.drafts = new Drafts(this.statements, options.now);
    this.search = new MessageSearch(storage, this.statements, (work) => this.#transact(work));
    this.sessions = new Sessions({
      storage,
      statements: this.statements,
      now: options.now,
      history: (sessionId) => this.session(sessionId),
      countTokens: (sessionId) => this.#countTokens(sessionId),
      transaction: (work) => this.#transact(work),
    });
  }

  /** A session's conversation; `""` is the default session. Reads nothing. Throws `invalid_input` for a bad id. */
  session(sessionId: string): History {
    const known = this.#histories.get(sessionId);
    if (known !== undefined) return known;
    if (typeof sessionId !== "string" || sessionId.length > MAX_SESSION_ID_CHARS || !sessionId.isWellFormed()) {
      throw new PalimpsestError(
        "invalid_input",
        `A session id is a string of at most ${MAX_SESSION_ID_CHARS} characters of valid Unicode.`,
      );
    }
    const { search, drafts } = this;
    const notes = this.#notes;
    const { now } = this.#options;
    const countTokens = this.#countTokens(sessionId);
    const tree = new Tree(this.statements, sessionId, now);
    const history = new History(tree, {
      now,
      countTokens,
      search,
      drafts,
      notes,
      transaction: (work) => this.#transact(work),
    });
    this.#histories.set(sessionId, history);
    return history;
  }

  /**
   * Does the work whole or not at all; may be nested. The work must not be async: what it did after its first `await`
   * would be outside.
   */
  transaction<T>(work: (() => T) & (T extends PromiseLike<unknown> ? never : unknown)): T {
    return this.#transact(work);
  }

  /** Calls `listener` whenever a transaction was rolled back: for what others keep in memory of these rows. */
  onRollback(listener: () => void): void {
    this.#rollbackListeners.push(listener);
  }

  #countTokens(sessionId: string): CountTokens | undefined {
    const count = this.#options.countTokens;
    return count && ((text) => count(text, sessionId));
  }

  #transact<T>(work: () => T): T {
    try {
      return this.#storage.transactionSync(work);
    } catch (error) {
      for (const history of this.#histories.values()) history.forget();
      this.search.forget();
      for (const listener of this.#rollbackListeners) listener();
      throw error;
    }
  }
}
