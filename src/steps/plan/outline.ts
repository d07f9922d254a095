/**
 * The outline: what the planner may know of a view. No content, only shape: so that planning reads no payload, step
 * results stay far under the platform's 1 MiB, and nothing private is kept in a Workflow's history.
 *
 * A row is an element of the view, oldest first: a message, the part of a message that an overlay left visible, or
 * an overlay. Rows are what a cut may fall between; inside a message of several steps it may also fall between steps.
 */

/** `toStep` of a place that means "to the end of the message", however many steps it will have. */
export const WHOLE_MESSAGE = 0x7fff_ffff;

/**
 * A closed range of a path, both ends included. A step is one model call inside an assistant message (AI SDK
 * `step-start` parts), counted from 0; every message has at least one. A range of whole messages has
 * `fromStep: 0` and `toStep: WHOLE_MESSAGE`.
 *
 * In a plan, either end may be an overlay of the view: its id stands in `fromId` with `fromStep: 0`, or in `toId` with
 * `toStep: WHOLE_MESSAGE`, and means that overlay's own first or last place.
 */
export interface Span {
  readonly fromId: string;
  readonly fromStep: number;
  readonly toId: string;
  readonly toStep: number;
}

/** What a plan must know of an overlay to decide whether a new one folds it in. */
export interface OverlayShape {
  /** 0 for one made of messages alone; one more than the highest that it folded in. */
  readonly level: number;
  /** How often the text of what it covers was written anew. */
  readonly generation: number;
  /** True when no model wrote it, or a part of it. */
  readonly degraded: boolean;
  /** Estimated tokens of its summary alone, with the line before it; all of its tokens where it does not say. */
  readonly summaryTokens?: number;
}

export interface OutlineRow {
  readonly kind: "message" | "overlay";
  /** The message's id, or the overlay's. */
  readonly id: string;
  readonly role: "system" | "user" | "assistant";
  /** Estimated tokens of what is visible of it. */
  readonly tokens: number;
  /** First visible step (0 unless an overlay ends inside this message). Always 0 for an overlay. */
  readonly firstStep: number;
  /** Estimated tokens of each visible step, `firstStep` first. Length 1 for a user message and an overlay. */
  readonly steps: readonly number[];
  /** True when the row's last visible step is the message's last step. */
  readonly complete: boolean;
  /** Tool parts here that wait for a result, with their step: `[callId, step]`. */
  readonly calls: readonly (readonly [id: string, step: number])[];
  /** Tool parts here that have one, with their step. Pairs with a call of the same id in an earlier part, if any waits. */
  readonly results: readonly (readonly [id: string, step: number])[];
  /** Visible steps that hold a text. */
  readonly texts: readonly number[];
  /** Provider message id that several rows may share (thinking and tool use streamed apart); null when none. */
  readonly group: string | null;
  /** Of an overlay only. */
  readonly overlay?: OverlayShape;
}

export interface Outline {
  readonly sessionId: string;
  /** The leaf of the path that was read. */
  readonly leafId: string;
  /** Tokens beside the messages: system prompt and tools, as last told. */
  readonly overheadTokens: number;
  /** Sum of the rows, plus the overhead. */
  readonly tokens: number;
  readonly rows: readonly OutlineRow[];
  /** True when the view was longer than an outline may be: the rows are then its oldest part. */
  readonly truncated: boolean;
}

/** Steps `fromStep` to `toStep` of what is visible of a message; null when none of them is. */
export function sliceRow(row: OutlineRow, fromStep: number, toStep: number): OutlineRow | null {
  const firstStep = Math.max(row.firstStep, fromStep);
  const steps = row.steps.slice(firstStep - row.firstStep, Math.max(0, toStep - row.firstStep + 1));
  if (steps.length === 0) return null;
  const inside = (step: number): boolean => step >= fromStep && step <= toStep;
  return {
    ...row,
    tokens: steps.reduce((sum, tokens) => sum + tokens, 0),
    firstStep,
    steps,
    complete: row.complete && firstStep + steps.length === row.firstStep + row.steps.length,
    calls: row.calls.filter(([, step]) => inside(step)),
    results: row.results.filter(([, step]) => inside(step)),
    texts: row.texts.filter(inside),
  };
}

/** The last visible step of a message. */
export function lastVisibleStep({ firstStep, steps }: OutlineRow): number {
  return firstStep + steps.length - 1;
}
