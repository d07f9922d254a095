/**
 * The drafts already paid for: summaries of chunks, keyed by the exact source, the prompt version and the model.
 *
 * A retry, another run over the same span, a fork or a rewind looks here before it asks a model (R3). A draft is stored
 * under its session, so it is deleted with that session (S2).
 */
import type { AuditProblem } from "../steps/draft/audit.ts";
import type { Span } from "../steps/plan/outline.ts";
import { NO_FACTS, type Facts } from "../facts/fact.ts";
import type { Db } from "./db.ts";
import type { Statements } from "./statements.ts";

type DraftRow = { text: string; tokens: number; details: string };

export interface Draft {
  readonly key: string;
  readonly text: string;
  readonly tokens: number;
  readonly model: string;
  readonly finishReason: string;
  /** True when no model made this draft, or when no model made one of the drafts that it was folded from. */
  readonly degraded: boolean;
  /** How often the covered text was summarised anew. A chunk's draft has generation 1. */
  readonly generation: number;
  /** What of its source stands beside it, with the instructions that the model found. */
  readonly facts: Facts;
  /** The problems that the audit found. A draft with problems is kept for repair only. */
  readonly problems: readonly AuditProblem[];
  /** What it names although it stands nowhere in what the model was shown. */
  readonly unfounded: readonly string[];
  /** The whole span of the run that asked for the draft, as the span was then. */
  readonly source?: Span & { readonly digest: string };
}

export class Drafts {
  readonly #db: Db;
  readonly #sql: Statements;
  readonly #now: () => number;

  constructor(db: Db, sql: Statements, now: () => number) {
    this.#db = db;
    this.#sql = sql;
    this.#now = now;
  }

  /**
   * Returns the session's own draft, or one of a session that it was forked or split from. The same key means the same
   * source, so an inherited draft shows this session nothing new. An inherited draft is copied into this session,
   * because the other session may be deleted while a run builds on the draft.
   */
  get(sessionId: string, key: string): Draft | null {
    const own = this.#own(sessionId, key);
    if (own !== null) return own;
    for (let parent = this.#sql.parentSession(sessionId); parent !== null; parent = this.#sql.parentSession(parent)) {
      const inherited = this.#own(parent, key);
      if (inherited !== null) return this.save(sessionId, inherited);
    }
    return null;
  }

  #own(sessionId: string, key: string): Draft | null {
    const sql = "SELECT text, tokens, details FROM palimpsest_drafts WHERE session_id = ? AND key = ?";
    const [row] = this.#db.run<DraftRow>(sql, sessionId, key);
    if (row === undefined) return null;
    const details = JSON.parse(row.details) as Omit<Draft, "key" | "text" | "tokens">;
    return { key, text: row.text, tokens: row.tokens, ...details, facts: { ...NO_FACTS, ...details.facts } };
  }

  /** Stores a draft unless its key is taken. The first one stored wins, so every reader sees the same text. */
  save(sessionId: string, draft: Draft): Draft {
    const { key, text, tokens, ...rest } = draft;
    const row = { sessionId, key, text, tokens, details: JSON.stringify(rest), createdAt: this.#now() };
    this.#db.insert("palimpsest_drafts", row, "ON CONFLICT (session_id, key) DO NOTHING");
    return this.#own(sessionId, key) ?? draft;
  }
}
