/**
 * The details stored beside an overlay: its author, its lineage, its pinned facts and how well it kept its source.
 *
 * This module defines the shape of one JSON column and nothing else. A missing field reads as in an overlay that a
 * caller added by hand, so rows of any origin are safe to read.
 */
import type { Span } from "../../steps/plan/outline.ts";
import { NO_FACTS, NOTHING_PINNED, type Facts, type Pinned } from "../../facts/fact.ts";

/** A chunk as a run cut it, with the draft made of it. */
export interface Leaf extends Span {
  readonly kind: "leaf";
  readonly digest: string;
  /** The draft of this chunk alone. Null where the chunk carried on an earlier summary. */
  readonly draftKey: string | null;
  /** Estimated tokens of its messages. */
  readonly tokens: number;
}

/** The text of a context block when the overlay was added. */
export interface Carried {
  readonly label: string;
  readonly text: string;
}

/** How the conversation began, word for word, where an overlay hides those messages. */
export interface Opening {
  /** The last message that the text quotes. The overlay is invalidated when that message changes. */
  readonly messageId: string;
  readonly text: string;
}

/** The moment at which an overlay replaced messages. */
export interface Boundary {
  readonly trigger: string;
  /** Tokens of the view, as a provider would have counted it. */
  readonly tokensBefore: number;
  /** The newest message at that moment. */
  readonly lastMessageId: string;
  /** The sorted names of every tool called before it, including calls that failed. */
  readonly tools: readonly string[];
  /** The part kept in view. `fromId` is the first message behind the overlay, or null when there was none. */
  readonly kept: { readonly headTokens: number; readonly tailTokens: number; readonly fromId: string | null };
}

/** How long a proposal waits for a person, and what happens then. */
export interface Deadline {
  /** Epoch ms. */
  readonly expiresAt: number;
  readonly onTimeout: "apply" | "discard";
}

export interface OverlayDetails {
  /** `caller` or `onCompaction` for a summary that none of our models wrote. */
  readonly model: string;
  /** True when no model wrote the summary, or when no model wrote a part of it. */
  readonly degraded: boolean;
  readonly trigger: string;
  readonly focus: string | null;
  /** 0 when it is made of messages alone. Otherwise one more than the highest overlay that it folded in. */
  readonly level: number;
  /** How often the covered text was summarised anew. */
  readonly generation: number;
  /**
   * The sources of the overlay, oldest first: its own chunks, and folded-in overlays, which stay in force beneath it
   * and hold their own. Empty when the sources are unknown.
   */
  readonly madeOf: readonly (Leaf | { readonly kind: "overlay"; readonly id: string })[];
  /** The facts of its span, for a summary without a draft that holds them. @internal */
  readonly facts: Facts | null;
  /** The draft that it shows. */
  readonly draftKey: string | null;
  /** Estimated tokens of the messages under it, as they were when it was made. Null where that is not known. */
  readonly sourceTokens: number | null;
  /** What stands beside it word for word. */
  readonly pinned: Pinned;
  /**
   * Earlier overlays whose instructions and loaded texts it shows. If one of them changes, those may be false. Empty when all come from
   * its own span.
   */
  readonly knows: readonly string[];
  /**
   * The parts of its tokens: what only the last overlay of a view shows, how much of that are instructions, and the summary with the
   * line before it.
   */
  readonly weights: { readonly last: number; readonly instructions?: number; readonly summary: number };
  /** The version of the session's notes that it shows. Null for a summary. */
  readonly notesVersion: number | null;
  /** Null when a caller added it. */
  readonly boundary: Boundary | null;
  /** The sorted names of the tools called before its end. Null where `boundary` has them. */
  readonly tools: readonly string[] | null;
  /** Context blocks that are shown behind it. */
  readonly carried: readonly Carried[];
  /** Null where the opening messages are still in view, or where no run asked for it. */
  readonly opening: Opening | null;
  /** The text that the caller's code added after the commit. Null for none. */
  readonly context: string | null;
  /** Of a summary that waits for a person. Null for any other. */
  readonly deadline: Deadline | null;
}

const BY_HAND: OverlayDetails = {
  model: "caller",
  degraded: false,
  trigger: "manual",
  focus: null,
  level: 0,
  generation: 1,
  madeOf: [],
  facts: null,
  draftKey: null,
  sourceTokens: null,
  pinned: NOTHING_PINNED,
  knows: [],
  weights: { last: 0, summary: 0 },
  notesVersion: null,
  boundary: null,
  tools: null,
  carried: [],
  opening: null,
  context: null,
  deadline: null,
};

export function parseDetails(json: string): OverlayDetails {
  return fillDetails(JSON.parse(json) as Partial<OverlayDetails>);
}

export function fillDetails(details: Partial<OverlayDetails>): OverlayDetails {
  const { facts = null, pinned } = details;
  return {
    ...BY_HAND,
    ...details,
    facts: facts === null ? null : { ...NO_FACTS, ...facts },
    pinned: { ...NOTHING_PINNED, ...pinned },
  };
}
