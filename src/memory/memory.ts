/**
 * The memory of one Durable Object: its sessions, stored in its SQLite.
 *
 * Hands out sessions and always returns the same object for one id. It is safe because transactions are synchronous, so
 * no other call runs between their statements. A session caches only copies of rows, and {@link Db} clears those on a
 * rollback.
 */
import type { UIMessage } from "ai";
import { assert, PalimpsestError } from "../errors.ts";
import { MAX_SESSION_ID_CHARS } from "../limits.ts";
import type { CountTokens } from "../steps/message/message.ts";
import { Drafts } from "./drafts.ts";
import { StoredContents, type Contents, type ReadableRow } from "./messages/content.ts";
import { History } from "./messages/history.ts";
import type { Db } from "./db.ts";
import { Sessions } from "./sessions/sessions.ts";
import { Statements } from "./statements.ts";
import { Tree } from "./messages/tree.ts";

export interface MemoryOptions {
  /** Epoch ms. */
  readonly now: () => number;
  /** Returns a session's token counter. A message gets its count when it is stored. */
  readonly counterOf: (sessionId: string) => CountTokens;
}

export class Memory {
  readonly db: Db;
  readonly statements: Statements;
  /** Drafts of summaries, by their exact source. */
  readonly drafts: Drafts;
  /** Session rows and their lineage. Use {@link session} for the messages of one session. */
  readonly sessions: Sessions;
  readonly #options: MemoryOptions;
  readonly #histories = new Map<string, History>();
  readonly #hosted = new Map<string, Contents>();

  constructor(db: Db, options: MemoryOptions) {
    this.db = db;
    this.#options = options;
    this.statements = new Statements(db);
    this.drafts = new Drafts(db, this.statements, options.now);
    const histories = this.#histories;
    db.cached({
      clear: () => histories.forEach((history) => history.forget()),
      delete: (sessionId) => histories.get(sessionId)?.forget(),
    });
    this.sessions = new Sessions({
      db,
      statements: this.statements,
      now: options.now,
      history: (sessionId) => this.session(sessionId),
      counterOf: options.counterOf,
    });
  }

  /** Reads a message's content from our own store or from the session's host. */
  readContent(sessionId: string, row: ReadableRow): UIMessage {
    return (this.#hosted.get(sessionId) ?? new StoredContents(this.statements, sessionId)).read(row);
  }

  /** Whether a session's messages were read or written since the object woke. */
  isUsed(sessionId: string): boolean {
    return this.#histories.has(sessionId);
  }

  /** Reads a session's messages from a host that keeps them. Call it before the session is first used. */
  host(sessionId: string, contents: Contents): void {
    assert(!this.#histories.has(sessionId), `Session "${sessionId}" was used before its host was named.`);
    this.#hosted.set(sessionId, contents);
  }

  /** A session's conversation. The default session is `""`. Reads nothing. Throws `invalid_input` for a bad id. */
  session(sessionId: string): History {
    const known = this.#histories.get(sessionId);
    if (known !== undefined) return known;
    if (typeof sessionId !== "string" || sessionId.length > MAX_SESSION_ID_CHARS || !sessionId.isWellFormed()) {
      throw new PalimpsestError(
        "invalid_input",
        `A session id is a string of at most ${MAX_SESSION_ID_CHARS} characters of valid Unicode.`,
      );
    }
    const { db, drafts } = this;
    const { now, counterOf } = this.#options;
    const contents = this.#hosted.get(sessionId);
    const tree = new Tree(this.statements, sessionId, now, { contents });
    const countTokens = counterOf(sessionId);
    const history = new History(tree, { db, now, countTokens, drafts });
    this.#histories.set(sessionId, history);
    return history;
  }
}
