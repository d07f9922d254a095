/**
 * Splits a view into units for fitting. A unit is a step of a message, in one zone of the view.
 *
 * Takes a view apart and puts the remaining units together again. fit-view.ts decides how each unit is changed. It is
 * safe because a unit is a whole step. Its tool calls and results stay or go together (V2), and units are never
 * reordered (V1).
 */
import type { UIMessage } from "ai";
import { DEFAULT_PROTECT_HEAD, HEAD_SHARE_OF_THRESHOLD, MESSAGE_OVERHEAD_TOKENS } from "../limits.ts";
import {
  measureMessage,
  type CountTokens,
  type Measure,
  messageSteps,
  innerParts,
  isOpenCall,
  isSaid,
  textPart,
  type Part,
} from "../steps/message/message.ts";
import { fittedMessageId, isSummaryRecord, parseSyntheticId } from "../steps/view/view.ts";

/** Largest share of the budget for a fitted view's newest part, including its growth until the line moves. */
const FIT_NEWEST_SHARE = 5 / 8;

/**
 * The line between older and newest moves by this share of the budget's scale. The prefix of the prompt changes only when
 * it moves.
 */
const FIT_LINE_SHARE = 1 / 3;

/** The budget is rounded to steps of this fraction of its scale, so that small changes of a prediction do not move the line. */
const FIT_BUDGET_STEPS = 16;

/**
 * The zones of a view:
 * - `system`: instructions, at any place.
 * - `head`: the task as it was first put.
 * - `asked`: the last message of the user.
 * - `open`: a step with a call that a person, a client or the SDK is about to answer, and everything after it.
 * - `older`: all else before the line.
 * - `newest`: all else after the line.
 */
export type Zone = "system" | "head" | "older" | "asked" | "newest" | "open";

export interface Unit {
  /** Index of the message in the view, and of the step in the message. */
  readonly message: number;
  readonly step: number;
  readonly zone: Zone;
  /** True for a unit before the line. */
  readonly behind: boolean;
  readonly parts: Part[];
  /** Rules that the parts no longer say, shown beside them (rules.ts). Empty at first. */
  readonly rules: string;
  /** Tokens of the parts and the rules. */
  readonly tokens: number;
}

/** A unit, or a message that replaces removed units. */
export type FitElement = Unit | UIMessage;

export function isUnit(piece: FitElement): piece is Unit {
  return "zone" in piece;
}

/** A view's budget, rounded so that small differences between predictions do not change it. */
export interface ViewBudget {
  readonly budget: number;
  /** The power of two below the budget. Cuts by a share of it are the same in a slightly larger budget. */
  readonly scale: number;
}

export function roundBudget(tokens: number): ViewBudget {
  const scale = 2 ** Math.floor(Math.log2(tokens));
  const grain = scale / FIT_BUDGET_STEPS;
  return { budget: Math.floor(tokens / grain) * grain, scale };
}

/**
 * The units of a view. The line depends only on the budget and on the messages before it, and moves in strides. So a
 * growing view keeps its prefix until it has grown by a stride.
 */
export function takeApart(messages: readonly UIMessage[], { budget, scale }: ViewBudget, count: CountTokens): Unit[] {
  const measures = messages.map((message) => measureMessage(message, count));
  const total = measures.reduce((sum, { tokens }) => sum + tokens, 0);
  const stride = scale * FIT_LINE_SHARE;
  const line = stride * Math.max(0, Math.ceil((total - budget * FIT_NEWEST_SHARE) / stride));
  const asked = messages.findLastIndex(isAsked);
  let before = 0;
  let behind = true;
  let inHead = true;
  // Nothing may follow an open call but its own message, not even a notice of omitted messages.
  let opened = false;
  return messages.flatMap((message, index) => {
    const measure = measures[index] as Measure;
    const first = before;
    inHead &&= index < DEFAULT_PROTECT_HEAD && first + measure.tokens <= scale / HEAD_SHARE_OF_THRESHOLD;
    const together = index > 0 && measure.group !== null && measure.group === measures[index - 1]?.group;
    return messageSteps(message).map((parts, step): Unit => {
      const weighs = measure.steps[step] ?? 0;
      const newest = index === messages.length - 1 && step === measure.steps.length - 1;
      // A model's reply that is stored as several messages stays on one side of the line.
      behind &&= !newest && (before < line || (together && step === 0));
      before += weighs;
      opened ||= parts.some(isOpenCall);
      behind &&= !opened;
      const zone =
        opened && index !== asked
          ? "open"
          : zoneOf(message, { asked: index === asked, head: inHead && behind, behind });
      const tokens = weighs - (step === 0 ? MESSAGE_OVERHEAD_TOKENS : 0);
      return { message: index, step, zone, behind, parts: [...parts], rules: "", tokens };
    });
  });
}

function zoneOf(message: UIMessage, is: { asked: boolean; head: boolean; behind: boolean }): Zone {
  if (message.role === "system") return "system";
  if (is.asked) return "asked";
  if (is.head) return "head";
  return is.behind ? "older" : "newest";
}

function isAsked(message: UIMessage): boolean {
  return message.role === "user" && parseSyntheticId(message.id) === null && !isSummaryRecord(message);
}

/** A unit's parts, with its rules after the user's words in it. */
function shownParts({ parts, rules }: Pick<Unit, "parts" | "rules">): Part[] {
  if (rules === "") return parts;
  const ruled = textPart(rules);
  const steered = parts.findLastIndex(({ type }) => type === "steering-message");
  if (steered === -1) return [...parts, ruled];
  return parts.map((part, at) => (at === steered ? ({ ...part, parts: [...innerParts(part), ruled] } as Part) : part));
}

/** The pieces as messages. A message without any change is the same object as before. */
export function putTogether(messages: readonly UIMessage[], pieces: readonly FitElement[]): UIMessage[] {
  return runs(pieces).map((run) => {
    if (!isRun(run)) return run;
    const [first] = run;
    const message = messages[first.message] as UIMessage;
    const parts = run.flatMap(shownParts);
    const whole = first.step === 0 && run.length === messageSteps(message).length;
    if (!whole) return { ...message, id: fittedMessageId(message.id, first.step), parts };
    const same = parts.length === message.parts.length && parts.every((part, at) => part === message.parts[at]);
    return same ? message : { ...message, parts };
  });
}

/** Estimated tokens of the pieces once they are put together. */
export function weigh(pieces: readonly FitElement[], count: CountTokens): number {
  return runs(pieces).reduce((sum, run) => {
    if (!isRun(run)) return sum + measureMessage(run, count).tokens;
    return sum + run.reduce((sofar, unit) => sofar + unit.tokens, MESSAGE_OVERHEAD_TOKENS);
  }, 0);
}

/** The unit with other parts and rules. */
export function withParts(unit: Unit, changed: Pick<Unit, "parts" | "rules">, count: CountTokens): Unit {
  return { ...unit, ...changed, tokens: weighParts(shownParts(changed), count) };
}

/** Estimated tokens of parts, without the overhead of a message. */
export function weighParts(parts: Part[], count: CountTokens): number {
  return measureMessage({ id: "", role: "user", parts }, count).tokens - MESSAGE_OVERHEAD_TOKENS;
}

export function countMessages(units: readonly Unit[]): number {
  return new Set(units.map((unit) => unit.message)).size;
}

type Run = readonly [Unit, ...Unit[]];

function isRun(run: Run | UIMessage): run is Run {
  return Array.isArray(run);
}

/** Groups units that follow one another in one message. Units that say nothing alone, such as the mark of a step, are no message. */
function runs(pieces: readonly FitElement[]): (Run | UIMessage)[] {
  const found: ([Unit, ...Unit[]] | UIMessage)[] = [];
  let last: Unit | null = null;
  for (const piece of pieces) {
    const run = found.at(-1);
    if (!isUnit(piece)) found.push(piece);
    else if (last?.message === piece.message && Array.isArray(run)) run.push(piece);
    else found.push([piece]);
    last = isUnit(piece) ? piece : null;
  }
  return found.filter((run) => !Array.isArray(run) || run.some((unit) => shownParts(unit).some(isSaid)));
}
