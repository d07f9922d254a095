/**
 * What is kept beside an overlay: who wrote it, what it is made of, what it pins and how well it kept its source.
 *
 * Boundary: the shape of one JSON column, nothing else. Safe to read whatever wrote it: a field that is not there has the
 * value of an overlay that a caller laid by hand.
 */
import type { Span } from "../../steps/plan/outline.ts";
import { NO_FACTS, NOTHING_PINNED, type Facts, type Pinned } from "../../steps/pinned/fact.ts";
import type { Survival } from "../../steps/pinned/survival.ts";

/** A chunk as a run cut it, and the draft that was made of it. */
export interface Leaf extends Span {
  readonly kind: "leaf";
  readonly digest: string;
  readonly draftKey: string;
  /** Estimated tokens of its messages. */
  readonly tokens: number;
}

/** The text of a context block as it was when the overlay was laid. */
export interface Carried {
  readonly label: string;
  readonly text: string;
}

/** How the conversation began, word for word, where the messages themselves are under an overlay. */
export interface Opening {
  /** The last message that words of it are from: it goes out of force with that one. */
  readonly messageId: string;
  readonly text: string;
}

/** The moment in which an overlay took the place of messages. */
export interface Boundary {
  readonly trigger: string;
  /** Of the view, as a provider would have counted it. */
  readonly tokensBefore: number;
  /** The newest message then. */
  readonly lastMessageId: string;
  /** Every tool that was called before it, whatever became of the calls, by name and sorted. */
  readonly tools: readonly string[];
  /** What was kept in view: `fromId` is the first message behind the overlay, null when there was none. */
  readonly kept: { readonly headTokens: number; readonly tailTokens: number; readonly fromId: string | null };
}

export interface OverlayDetails {
  /** `caller` or `onCompaction` for a summary that no model of ours wrote. */
  readonly model: string;
  /** True when no model wrote it, or a part of it. */
  readonly degraded: boolean;
  readonly trigger: string;
  readonly focus: string | null;
  /** 0 when it is made of messages alone; one more than the highest overlay that it folded in. */
  readonly level: number;
  /** How often the text of what it covers was written anew. */
  readonly generation: number;
  /**
   * What it is made of, oldest first: its own chunks, and overlays that it folded in, which stay in force beneath it and
   * hold their own. Empty when nobody knows.
   */
  readonly madeOf: readonly (Leaf | { readonly kind: "overlay"; readonly id: string })[];
  /** What its span holds, of a summary that has no draft to ask. */
  readonly facts: Facts | null;
  /** The draft that it shows. */
  readonly draftKey: string | null;
  /** Kept word for word, and shown with it. */
  readonly pinned: Pinned;
  /** Overlays before it whose words may be among its names: those are no truer than what these tell of. Empty: of its own span alone. */
  readonly namesOf: readonly string[];
  /** Of its tokens as it is shown, those of the names, and those of its summary with the line before it. */
  readonly weights: { readonly names: number; readonly summary: number };
  /** What summary and pinned facts keep of the span; null when nobody measured. */
  readonly survival: Survival | null;
  /** The version of the session's notes that it shows; null for a summary. */
  readonly notesVersion: number | null;
  /** Null when a caller laid it. */
  readonly boundary: Boundary | null;
  /** Context blocks that are shown behind it. */
  readonly carried: readonly Carried[];
  /** Null where its messages are in view, or nobody asked for it. */
  readonly opening: Opening | null;
  /** What the caller's code added once it was in force; null for nothing. */
  readonly context: string | null;
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
  pinned: NOTHING_PINNED,
  namesOf: [],
  weights: { names: 0, summary: 0 },
  survival: null,
  notesVersion: null,
  boundary: null,
  carried: [],
  opening: null,
  context: null,
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
