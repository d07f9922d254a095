/**
 * The context blocks of all sessions of one agent, over its SQLite.
 *
 * It keeps one {@link ContextBlocks} per session, so all handles of a session share one frozen prompt and one order of writes. It also
 * deletes the rows of a session.
 */
import type { Db } from "../memory/db.ts";
import { sessionScope } from "../memory/sessions/room-rows.ts";
import type { CountTokens } from "../steps/message/message.ts";
import { ContextBlocks, type BlocksHost } from "./blocks.ts";
import { copyEntries } from "./sqlite-search.ts";
import { ContextStatements } from "./statements.ts";
import { Turns } from "./turns.ts";

/** Time limit of a context provider (ms). A person waits for this turn, and an object store answers in well under a second. */
const PROVIDER_LIMIT_MS = 10_000;

export interface ContextsOptions {
  /** The agent that owns the blocks. Default "", for a single agent. */
  readonly agentId?: string | undefined;
  /** Time limit of a provider (ms). */
  readonly limitMs?: number | undefined;
  /** Returns the token counter of a session. */
  readonly counterOf: (sessionId: string) => CountTokens;
}

export class Contexts {
  readonly statements: ContextStatements;
  readonly #host: BlocksHost;
  readonly #sessions = new Map<string, ContextBlocks>();

  /** @internal */
  constructor(db: Db, options: ContextsOptions) {
    this.statements = new ContextStatements(db);
    const { agentId = "", limitMs = PROVIDER_LIMIT_MS, counterOf } = options;
    const { statements } = this;
    const transaction = <T>(work: () => T): T => db.transaction<unknown>(work) as T;
    this.#host = { agentId, statements, transaction, turns: new Turns(), limitMs, counterOf };
  }

  /** Returns a session's blocks, always the same object. `""` is the default session. Reads nothing. */
  session(sessionId: string): ContextBlocks {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const blocks = new ContextBlocks(this.#host, sessionId);
    this.#sessions.set(sessionId, blocks);
    return blocks;
  }

  /**
   * For a session that was deleted, and its rows with it (S2). Content that the caller's provider stored elsewhere stays, and so do
   * declarations, because they are code.
   */
  forgetSession(sessionId: string): void {
    this.#sessions.get(sessionId)?.forget();
  }

  /**
   * Copies blocks, entries and loaded skills of one session to a new session. The new prompt is not frozen yet. Shared content needs no
   * copy, and content that the caller's provider stored elsewhere is not copied. Call inside a transaction.
   */
  copySession(fromId: string, toId: string): void {
    const [from, to] = [sessionScope(fromId), sessionScope(toId)];
    this.statements.copyTexts(from, to);
    copyEntries(this.statements, from, to);
  }

  /** Forgets a session's loaded skills. Call it when the session's messages, which held their texts, were deleted. */
  forgetLoaded(sessionId: string): void {
    this.statements.deleteSkills(sessionScope(sessionId));
  }
}
