/**
 * Facts that a summary must not lose: the user's rules, words that name things, open tasks, and errors not put right.
 *
 * Shapes only. Facts are plain JSON, and their makers (gather.ts, merge.ts) bound their number and size. So they fit a
 * row for a conversation of any length.
 */
import type { Loaded } from "./loaded.ts";
import { NO_WORDS, type Words } from "./names/table.ts";

/**
 * `rule` is an order or a wish of the user, `task` an open task or question, `failure` an error not yet put right, and
 * `change` a file that a tool changed.
 */
export type FactKind = "rule" | "task" | "failure" | "change" | "name";

/**
 * What a task is about that only asks the user's question. A user who goes on after an answer settles it, and what the user asks later
 * replaces it.
 */
export const QUESTION = "question";

/** One fact, word for word. */
export interface Fact {
  readonly kind: FactKind;
  /** A slice of the message with the id `messageId`. */
  readonly value: string;
  /** The message that stated it last. For a rule, the message that stated it first. */
  readonly messageId: string;
  /** Messages read since the last one that stated it. 0 when that was the newest. */
  readonly age: number;
  /** The failed call of a failure, or the owner of a task, or {@link QUESTION}. */
  readonly about?: string;
  /** Set for a rule that may take back an earlier one, because it is plainly the user's own text and not pasted. */
  readonly revises?: true;
}

/** The facts of some messages. Each list is in the order in which its facts were last stated. */
export interface Facts {
  /** The number of messages read. */
  readonly messages: number;
  /** In the user's own words. A later rule removes the rule that it takes back, and stays itself. At most `MAX_RULES`. */
  readonly rules: readonly Fact[];
  /** The words that name something, with their heat. */
  readonly words: Words;
  readonly tasks: readonly Fact[];
  readonly failures: readonly Fact[];
  /** Paths of the files that tools changed lately. */
  readonly changed: readonly Fact[];
  /** Instruction files, skills, the plan and calls without a result, as they last stood. */
  readonly loaded: readonly Loaded[];
  /**
   * Calls that worked, and {@link QUESTION}. A call that worked settles earlier failures of the same call. `QUESTION` settles the user's
   * questions.
   */
  readonly worked: readonly string[];
  /** True where the first message is a user's. */
  readonly goesOn?: boolean;
  /** True where the last message ends with a text of the assistant that asks nothing. */
  readonly answers?: boolean;
}

export const NO_FACTS: Facts = {
  messages: 0,
  rules: [],
  words: NO_WORDS,
  tasks: [],
  failures: [],
  changed: [],
  loaded: [],
  worked: [],
};

/** A fact as it is shown beside a summary. */
export interface PinnedFact {
  readonly kind: FactKind;
  readonly value: string;
  /** Empty for a name, because many messages say it. */
  readonly messageId: string;
}

/** The facts chosen to be shown beside a summary. */
export interface Pinned {
  /** In the order in which they were said. */
  readonly rules: readonly PinnedFact[];
  /** Open tasks, failures and changed files, each the newest first, also of earlier overlays. Those show none before it. */
  readonly facts: readonly PinnedFact[];
  /** In the order in which they were last said, from all that the view hides. Only its last overlay shows them. */
  readonly names: readonly string[];
  /** The same for loaded texts. One that did not fit is without its text. */
  readonly loaded: readonly Pick<Loaded, "kind" | "name" | "text" | "characters" | "messageId">[];
  /** The number of rules and other facts in force that did not fit. */
  readonly left: number;
  /** The number of rules among those. Absent for none. */
  readonly leftRules?: number;
  /** True where the summary's own text gives way to them, and is only stored. */
  readonly alone?: boolean;
}

export const NOTHING_PINNED: Pinned = { rules: [], facts: [], names: [], loaded: [], left: 0 };

/** What stays beside a summary with a later one behind it, which shows the rest for both. It may not know what is open here. */
export function besideEarlier(pinned: Pinned, tellsOpen = false): Pinned {
  return { ...pinned, facts: tellsOpen ? pinned.facts : [], names: [], loaded: [] };
}

/** The rest where the named entries of context blocks stand elsewhere or were put away. Names are asked for only where there is one. */
export function withoutDocuments(pinned: Pinned, names: () => ReadonlySet<string> = () => new Set()): Pinned {
  if (!pinned.loaded.some(({ kind }) => kind === "context")) return pinned;
  const left = names();
  return { ...pinned, loaded: pinned.loaded.filter(({ kind, name }) => kind !== "context" || !left.has(name)) };
}
