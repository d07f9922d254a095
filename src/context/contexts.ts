/**
 * The context blocks of all sessions of one agent, over its SQLite.
 *
 * Job: one {@link ContextBlocks} per session, so that all handles of a session share one frozen prompt and one order of
 * writes; and one way to delete what a session stored.
 */
import type { Db } from "../memory/db.ts";
import type { CountTokens } from "../steps/message/measure.ts";
import { ContextBlocks, type BlocksHost } from "./blocks.ts";
import { sessionScope } from "./scope.ts";
import { copyEntries } from "./sqlite-search.ts";
import { ContextStatements } from "./statements.ts";
import { Turns } from "./turns.ts";

/** How long a context provider may take (ms): a person waits for this turn, and an object store answers in well under a second. */
const PROVIDER_LIMIT_MS = 10_000;

export interface ContextsOptions {
  /** Whose blocks these are. Default "": of the only agent that there is. */
  readonly agentId?: string | undefined;
  /** How long a provider may take (ms). */
  readonly limitMs?: number | undefined;
  /** What a session counts tokens with. */
  readonly counterOf: (sessionId: string) => CountTokens;
}

export class Contexts {
  readonly statements: ContextStatements;
  readonly #db: Db;
  readonly #host: BlocksHost;
  readonly #sessions = new Map<string, ContextBlocks>();

  constructor(db: Db, options: ContextsOptions) {
    this.statements = new ContextStatements(db);
    this.#db = db;
    const { agentId = "", limitMs = PROVIDER_LIMIT_MS, counterOf } = options;
    const { statements } = this;
    const transaction: BlocksHost["transaction"] = (work) => db.transaction(work);
    this.#host = { agentId, statements, transaction, turns: new Turns(), limitMs, counterOf };
  }

  /** A session's blocks, always the same object; `""` is the default session. Reads nothing. */
  session(sessionId: string): ContextBlocks {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const blocks = new ContextBlocks(this.#host, sessionId);
    this.#sessions.set(sessionId, blocks);
    return blocks;
  }

  /**
   * Deletes blocks, entries, frozen prompt and loaded skills of a session (S2). What is shared stays, and so does what
   * a provider of the caller's stored elsewhere. Declarations stay: they are code. May run inside a transaction.
   */
  forgetSession(sessionId: string): void {
    this.#db.transaction(() => this.statements.forget(sessionScope(sessionId)));
    this.#sessions.get(sessionId)?.forget();
  }

  /**
   * Gives a new session what another one has of blocks, entries and loaded skills, as they are now. Its prompt is not
   * frozen yet; what is shared is its own already; what a provider of the caller's stored elsewhere is not copied.
   * Call inside a transaction.
   */
  copySession(fromId: string, toId: string): void {
    const [from, to] = [sessionScope(fromId), sessionScope(toId)];
    this.statements.copyTexts(from, to);
    copyEntries(this.statements, from, to);
  }

  /** Says that a session's messages were deleted: the texts that its skills were loaded into are gone. */
  forgetLoaded(sessionId: string): void {
    this.statements.deleteSkills(sessionScope(sessionId));
  }
}
