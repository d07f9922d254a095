/**
 * A bullet: one slice of a conversation and its weight for a summary.
 *
 * Defines the shape that readers of a conversation produce and that a summary is built from, and cuts text to size.
 */
import { joinReferences } from "../draft/provenance.ts";

/** The kind of a slice. Template sections are matched to these topics. */
export type Topic =
  | "goal"
  | "constraints"
  | "decisions"
  | "done"
  | "doing"
  | "files"
  | "errors"
  | "questions"
  | "state";

export interface Bullet {
  readonly topic: Topic;
  readonly text: string;
  /** The higher, the more worth keeping. From 0 upward. */
  readonly weight: number;
  /** Its place in time. Bullets of a topic are shown in this order. */
  readonly order: number;
  /** Its source messages, named as in the input: `#12`, or `@0a1b2c3` from an earlier summary. */
  readonly references: readonly string[];
}

/** Adds a slice of the conversation, with its topic, text, place and an optional fixed label in front. */
export type Add = (
  topic: Topic,
  text: string,
  more: {
    readonly at: number;
    /** Further entries that the text comes from. */
    readonly also?: readonly number[];
    readonly weight?: number;
    readonly label?: string;
  },
) => void;

/** The bullet as a line of a summary, without its list mark. */
export function lineOf({ text, references }: Pick<Bullet, "text" | "references">): string {
  return joinReferences(text, references);
}

/** Label of the user's last words. */
export const USER_SAID = "User last said: ";
/** Labels of the assistant's last words, and of its last call if it said nothing after it. */
export const ASSISTANT_SAID = "Last said: ";
export const LAST_ACTION = "Last action: ";
/** Labels of open work, and of its obstacles. */
export const TO_DO = "To do: ";
export const BLOCKED = "Blocked: ";
/** Label of a question by the assistant that is not answered yet. */
export const ASKED_USER = "To the user: ";
/** Labels of bullets that hold only until a newer one or an answer replaces them. */
export const PASSING_LABELS: readonly string[] = [USER_SAID, ASSISTANT_SAID, LAST_ACTION, TO_DO, BLOCKED, ASKED_USER];
/** Longest slice in a bullet, in characters. Rules of the user are never cut. */
export const MAX_SLICE = 280;

export function wordCount(text: string): number {
  return text.split(" ").length;
}

/** Joins sentences in a row. Puts `…` after one without a final mark, because the text between was left out. */
export function joinSentences(sentences: readonly string[]): string {
  return sentences.reduce((all, each) => (all === "" ? each : `${all}${/[.!?:]$/.test(all) ? "" : " …"} ${each}`), "");
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** At most `length` characters, cut between words, with `…` for the missing rest. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.lastIndexOf(" ", length - 1);
  return `${text.slice(0, cut > length / 2 ? cut : length - 1).trimEnd()}…`;
}
