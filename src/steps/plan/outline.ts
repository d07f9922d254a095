/**
 * The outline: the view as the planner sees it, without content. So planning reads no payload, step results stay far
 * below the platform's 1 MiB, and nothing private enters a Workflow's history.
 *
 * A row is an element of the view, oldest first: a message, the visible part of a message that an overlay cuts, or an
 * overlay. A cut falls between rows, or between the steps of a message.
 */

/** The `toStep` that means the end of the message, including steps added later. */
export const WHOLE_MESSAGE = 0x7fff_ffff;

/**
 * A closed range of a path, both ends included. A step is one model call inside an assistant message (AI SDK
 * `step-start` parts), counted from 0. Every message has at least one. A range of whole messages has `fromStep: 0` and
 * `toStep: WHOLE_MESSAGE`.
 *
 * In a plan, either end may be an overlay of the view. Its id then stands in `fromId` with `fromStep: 0`, or in `toId`
 * with `toStep: WHOLE_MESSAGE`, and means the overlay's own first or last place.
 */
export interface Span {
  readonly fromId: string;
  readonly fromStep: number;
  readonly toId: string;
  readonly toStep: number;
}

export function isSameSpan(a: Span, b: Span): boolean {
  return a.fromId === b.fromId && a.fromStep === b.fromStep && a.toId === b.toId && a.toStep === b.toStep;
}

/** The properties of an overlay by which a plan decides whether to fold it into a new one. */
export interface OverlayShape {
  /** 0 if it is made of messages alone. Otherwise one more than the highest overlay that it folded in. */
  readonly level: number;
  /** How often the covered text was summarised anew. */
  readonly generation: number;
  /** True when no model wrote the summary, or when no model wrote a part of it. */
  readonly degraded: boolean;
  /** Estimated tokens of its summary with the line before it. Absent means all of its tokens. */
  readonly summaryTokens?: number;
  /** Estimated tokens of the messages under it. Absent where that is not known. */
  readonly sourceTokens?: number;
}

export interface OutlineRow {
  readonly kind: "message" | "overlay";
  /** The message's id, or the overlay's. */
  readonly id: string;
  readonly role: "system" | "user" | "assistant";
  /** Estimated tokens of its visible part. */
  readonly tokens: number;
  /** First visible step (0 unless an overlay ends inside this message). Always 0 for an overlay. */
  readonly firstStep: number;
  /** Estimated tokens of each visible step, from `firstStep`. Length 1 for a user message and an overlay. */
  readonly steps: readonly number[];
  /** True when the row's last visible step is the message's last step. */
  readonly complete: boolean;
  /** Tool parts here that wait for a result, with their step: `[callId, step]`. */
  readonly calls: readonly (readonly [id: string, step: number])[];
  /** Tool parts here with a result, and their step. Each answers a waiting call of the same id in an earlier part, if any. */
  readonly results: readonly (readonly [id: string, step: number])[];
  /** Visible steps that hold a text. */
  readonly texts: readonly number[];
  /** Provider message id that several rows may share (thinking and tool use streamed apart). Null when there is none. */
  readonly group: string | null;
  /** Set for an overlay only. */
  readonly overlay?: OverlayShape;
}

export interface Outline {
  readonly sessionId: string;
  /** The leaf of the path that was read. */
  readonly leafId: string;
  /** Tokens of system prompt and tools, as last reported. */
  readonly overheadTokens: number;
  /** Sum of the rows, plus the overhead. */
  readonly tokens: number;
  readonly rows: readonly OutlineRow[];
  /** True when the view exceeded the limits of an outline. The rows are then its oldest part. */
  readonly truncated: boolean;
}
