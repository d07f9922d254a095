/**
 * What a conversation holds that a summary must not lose: the rules of the user, the names of things, open tasks and
 * errors that nothing has put right.
 *
 * Boundary: shapes only. Safe to store: plain JSON, bounded in number and size by whoever makes it (gather.ts,
 * merge.ts), so that it fits a row and a step's result however long the conversation is.
 */
import type { IdentifierKind } from "../facts.ts";

/** `rule`: an order or a wish of the user; `task`: an open task or question; `failure`: an error not yet put right. */
export type FactKind = IdentifierKind | "rule" | "task" | "failure";

/** One fact, word for word. */
export interface Fact {
  readonly kind: FactKind;
  /** A slice of the message that {@link messageId} names. */
  readonly value: string;
  /** The message that said it last; for a rule, the one that said it first. */
  readonly messageId: string;
  /** Messages from the last one that said it to the end of what was read: 0 when the last message did. */
  readonly age: number;
  /** How warm it is at that end: each message that says it adds to it, and all of it fades as the conversation goes on. */
  readonly heat: number;
  /** What a failure, or a task, is about: the call that went wrong. Empty for other kinds. */
  readonly about: string;
}

/** What some messages hold, each list oldest first. */
export interface Facts {
  /** How many messages were read. */
  readonly messages: number;
  /** The user's own words only. Those that a later one took back are gone, the later one stays. */
  readonly rules: readonly Fact[];
  readonly identifiers: readonly Fact[];
  readonly tasks: readonly Fact[];
  readonly failures: readonly Fact[];
  /** Calls that worked: what they were about. They put right what failed before. */
  readonly worked: readonly string[];
}

export const NO_FACTS: Facts = { messages: 0, rules: [], identifiers: [], tasks: [], failures: [], worked: [] };

/** A fact as it stands beside a summary. */
export interface PinnedFact {
  readonly kind: FactKind;
  readonly value: string;
  readonly messageId: string;
}

/** What was chosen to stand beside a summary. */
export interface Pinned {
  /** In the order that they were said, so that the later one is seen to win. */
  readonly rules: readonly PinnedFact[];
  /** The most useful first. */
  readonly facts: readonly PinnedFact[];
  /** How many facts did not fit. */
  readonly left: number;
}
