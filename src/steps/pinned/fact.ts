/**
 * What a conversation holds that a summary must not lose: the rules of the user, the words that name things, open tasks and
 * errors that nothing has put right.
 *
 * Boundary: shapes only. Safe to store: plain JSON, bounded in number and size by those who make it (gather.ts,
 * merge.ts), so that it fits a row however long the conversation is.
 */
import type { Loaded } from "./loaded.ts";
import { NO_WORDS, type Words } from "../salience/table.ts";

/** `rule`: an order or a wish of the user; `task`: an open task or question; `failure`: an error not yet put right. */
export type FactKind = "rule" | "task" | "failure" | "name";

/** One fact, word for word. */
export interface Fact {
  readonly kind: FactKind;
  /** A slice of the message that `messageId` names. */
  readonly value: string;
  /** The message that said it last; for a rule, the one that said it first. */
  readonly messageId: string;
  /** Messages read after the last one that said it: 0 when that was the last of all. */
  readonly age: number;
  /** Of a failure, the call that failed; of a task, who has it. */
  readonly about?: string;
  /** Of a rule: it may take back an earlier one, for it is plainly the user's own and not pasted. */
  readonly revises?: true;
}

/** What some messages hold, each list in the order in which its facts were said last. */
export interface Facts {
  /** How many messages were read. */
  readonly messages: number;
  /** In the user's own words. One that a later one took back is gone, the later one stays. At most `MAX_RULES`. */
  readonly rules: readonly Fact[];
  /** The words that name something, and how warm each is. */
  readonly words: Words;
  readonly tasks: readonly Fact[];
  readonly failures: readonly Fact[];
  /** Instruction files, skills, the plan and calls without a result, as they last stood. */
  readonly loaded: readonly Loaded[];
  /** Calls that worked: each puts right what failed of the same call before. */
  readonly worked: readonly string[];
}

export const NO_FACTS: Facts = {
  messages: 0,
  rules: [],
  words: NO_WORDS,
  tasks: [],
  failures: [],
  loaded: [],
  worked: [],
};

/** A fact as it stands beside a summary. */
export interface PinnedFact {
  readonly kind: FactKind;
  readonly value: string;
  /** Empty for a name: it was said all over. */
  readonly messageId: string;
}

/** What was chosen to stand beside a summary. */
export interface Pinned {
  /** In the order in which they were said, so that the later one is seen to hold. */
  readonly rules: readonly PinnedFact[];
  /** Open tasks and failures, the newest first. */
  readonly facts: readonly PinnedFact[];
  /**
   * Words that name something, in the order in which they were said last: of all that a view hides where this overlay is its
   * last one. Where another one follows, that one has them.
   */
  readonly names: readonly string[];
  /**
   * What was loaded, of all that a view hides where this overlay is its last one, as {@link names} are; without its text where it
   * found no room.
   */
  readonly loaded: readonly Pick<Loaded, "kind" | "name" | "text" | "characters" | "messageId">[];
  /** How many rules, tasks and failures found no room. */
  readonly left: number;
  /** How many of those are rules; absent for none. */
  readonly leftRules?: number;
}

export const NOTHING_PINNED: Pinned = { rules: [], facts: [], names: [], loaded: [], left: 0 };
