/**
 * What was already paid for: summaries of chunks, by a key made of the exact source, the prompt's version and the model.
 *
 * A retry, another run over the same span, a fork or a rewind asks here before it asks a model (R3). The text stays in
 * the agent, so it leaves with the session that it belongs to (S2).
 */
import type { AuditProblem } from "../steps/draft/audit.ts";
import type { Span } from "../steps/plan/outline.ts";
import { NO_FACTS, type Facts } from "../steps/pinned/fact.ts";
import type { Statements } from "./statements.ts";

export interface Draft {
  readonly key: string;
  readonly text: string;
  readonly tokens: number;
  readonly model: string;
  readonly finishReason: string;
  /** True when no model made it, or one of the drafts that it was folded from. */
  readonly degraded: boolean;
  /** How often the text of what it covers was written anew: 1 for a chunk's. */
  readonly generation: number;
  /** What its source holds. */
  readonly facts: Facts;
  /** What an audit found wrong with it; a draft with problems is kept for repair only. */
  readonly problems: readonly AuditProblem[];
  /** Share of {@link facts} that it keeps, pinned facts counted: 0 to 1. */
  readonly score: number;
  /** The most important of what it lost, where it lost too much. */
  readonly lost: readonly string[];
  /** The span of the run that it was made for, whole, as it was then. */
  readonly source?: Span & { readonly digest: string };
}

export class Drafts {
  readonly #sql: Statements;
  readonly #now: () => number;

  constructor(sql: Statements, now: () => number) {
    this.#sql = sql;
    this.#now = now;
  }

  /**
   * The session's own draft, or one of a session that it was forked or split from: the same key is the same source, so
   * nothing is told that the session does not hold itself. One that is found there is kept here as well, because the
   * other session may be deleted while a run builds on it.
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
    const row = this.#sql.draft(sessionId, key);
    if (row === undefined) return null;
    const details = JSON.parse(row.details) as Omit<Draft, "key" | "text" | "tokens">;
    return { key, text: row.text, tokens: row.tokens, ...details, facts: { ...NO_FACTS, ...details.facts } };
  }

  /** Stores a draft unless its key is taken: the first stored wins, so that every reader sees one text. */
  save(sessionId: string, draft: Draft): Draft {
    const { key, text, tokens, ...details } = draft;
    this.#sql.insertDraft(sessionId, key, { tokens, text, details: JSON.stringify(details), createdAt: this.#now() });
    return this.#own(sessionId, key) ?? draft;
  }
}
