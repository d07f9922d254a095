/**
 * A bullet: one slice of a conversation, and what it is worth to a summary.
 *
 * Boundary: the shape that readers of a conversation hand over and that the summary is put together from; the cutting
 * of text to size.
 */
import { joinReferences } from "../draft/provenance.ts";

/** What a slice is for. The sections of a template are matched to these. */
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
  /** What is more worth keeping, from 0 upward. */
  readonly weight: number;
  /** Its place in time: bullets of a topic are shown in this order. */
  readonly order: number;
  /** Messages that it comes from, as they are named in what was read: `#12`, or `@0a1b2c3` from an earlier summary. */
  readonly references: readonly string[];
}

/** How a reader of a conversation hands in a slice: its topic, the text, where it stands, a fixed label before it. */
export type Add = (
  topic: Topic,
  text: string,
  more: {
    readonly at: number;
    /** Other entries that the text is made of. */
    readonly also?: readonly number[];
    readonly weight?: number;
    readonly label?: string;
  },
) => void;

/** The bullet as a line of a summary, without its mark. */
export function lineOf({ text, references }: Pick<Bullet, "text" | "references">): string {
  return joinReferences(text, references);
}

/** Label of the user's last words. */
export const USER_SAID = "User last said: ";
/** Labels of the assistant's last words, and of its last call where nothing was said since. */
export const ASSISTANT_SAID = "Assistant last said: ";
export const LAST_ACTION = "Last action: ";
/** Labels of what was still to be done, and of what kept it from being done. */
export const TO_DO = "To do: ";
export const BLOCKED = "Blocked: ";
/** Label of what the assistant asked and nobody answered yet. */
export const ASKED_USER = "To the user: ";
/** What holds until it is told anew, or answered. */
export const PASSING_LABELS: readonly string[] = [USER_SAID, ASSISTANT_SAID, LAST_ACTION, TO_DO, BLOCKED, ASKED_USER];
/** Longest slice in a bullet, in characters. Rules of the user are never cut. */
export const MAX_SLICE = 280;

export function wordCount(text: string): number {
  return text.split(" ").length;
}

/** Sentences in a row; `…` between two that no full stop parts, because something stood there. */
export function joinSentences(sentences: readonly string[]): string {
  return sentences.reduce((all, each) => (all === "" ? each : `${all}${/[.!?:]$/.test(all) ? "" : " …"} ${each}`), "");
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** At most `length` characters, cut between words, with `…` where something is missing. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.lastIndexOf(" ", length - 1);
  return `${text.slice(0, cut > length / 2 ? cut : length - 1).trimEnd()}…`;
}
