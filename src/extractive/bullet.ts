/**
 * A bullet: one slice of a conversation and its weight for a summary.
 *
 * Defines the shape that readers of a conversation produce and that a summary is built from, and cuts text to size.
 */
import { joinReferences } from "../steps/draft/provenance.ts";
import type { Topic } from "../steps/draft/summary-shape.ts";

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

/** Longest slice in a bullet, in characters. Rules of the user are never cut. */
export const MAX_SLICE = 280;

export function wordCount(text: string): number {
  return text.split(" ").length;
}

/** Joins sentences in a row. Puts `…` after one without a final mark, because the text between was left out. */
export function joinSentences(sentences: readonly string[]): string {
  return sentences.reduce((all, each) => (all === "" ? each : `${all}${/[.!?:]$/.test(all) ? "" : " …"} ${each}`), "");
}

/** At most `length` characters, cut between words, with `…` for the missing rest. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.lastIndexOf(" ", length - 1);
  return `${text.slice(0, cut > length / 2 ? cut : length - 1).trimEnd()}…`;
}
