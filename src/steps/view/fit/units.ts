/**
 * A view as fitting sees it: a row of units, the steps of its messages, each in a zone.
 *
 * Job: take a view apart and put what is left of it together again. Boundary: what becomes of a unit is decided in
 * fit-view.ts. Safe because a unit is a whole step: its tool calls and their results stay or go together (V2), and units
 * are never reordered (V1).
 */
import type { UIMessage } from "ai";
import { DEFAULT_PROTECT_HEAD, HEAD_SHARE_OF_THRESHOLD, MESSAGE_OVERHEAD_TOKENS } from "../../../limits.ts";
import { measureMessage, type CountTokens, type Measure } from "../../message/measure.ts";
import { messageSteps } from "../../message/slice.ts";
import { innerParts, isOpenCall, type Part } from "../../message/tool-parts.ts";
import { fittedMessageId, isRecord, parseSyntheticId } from "../view.ts";

/** Most of its room that a fitted view's newest part takes, its growth until the line moves included. */
const FIT_NEWEST_SHARE = 5 / 8;

/** Share of that power by which a fitted view's line between older and newest moves: so often, and no oftener, does its prefix change. */
const FIT_LINE_SHARE = 1 / 3;

/** Steps of a power of two in which a fitted view's room is counted: one that is predicted anew at each call must not move its line. */
const FIT_ROOM_STEPS = 16;

/**
 * `system`: instructions, wherever they stand. `head`: the task as it was first put. `asked`: the last message of the
 * user. `open`: a step with a call that a person, a client or the SDK is about to answer. `older` and `newest`: what else is
 * before and behind the line.
 */
export type Zone = "system" | "head" | "older" | "asked" | "newest" | "open";

export interface Unit {
  /** The message's place in the view, and the step's in the message. */
  readonly message: number;
  readonly step: number;
  readonly zone: Zone;
  /** Before the line. */
  readonly behind: boolean;
  readonly parts: Part[];
  /** What is said beside the parts of rules that they do not say any more (rules.ts); empty at first. */
  readonly rules: string;
  /** Of the parts and the rules. */
  readonly tokens: number;
}

/** A unit, or a message that stands for units that are gone. */
export type Piece = Unit | UIMessage;

export function isUnit(piece: Piece): piece is Unit {
  return "zone" in piece;
}

/** A view's room, rounded so that it stays the same where it is predicted a little differently from call to call. */
export interface Room {
  readonly room: number;
  /** The power of two under it: what is cut by a share of this is cut alike in a room that is a little larger. */
  readonly scale: number;
}

export function roundRoom(tokens: number): Room {
  const scale = 2 ** Math.floor(Math.log2(tokens));
  const grain = scale / FIT_ROOM_STEPS;
  return { room: Math.floor(tokens / grain) * grain, scale };
}

/**
 * The units of a view. The line depends on what is before it and on the room alone, and moves in strides: so a view that
 * grows keeps its prefix until it has grown by a stride.
 */
export function takeApart(messages: readonly UIMessage[], { room, scale }: Room, count: CountTokens): Unit[] {
  const measures = messages.map((message) => measureMessage(message, count));
  const total = measures.reduce((sum, { tokens }) => sum + tokens, 0);
  const stride = scale * FIT_LINE_SHARE;
  const line = stride * Math.max(0, Math.ceil((total - room * FIT_NEWEST_SHARE) / stride));
  const asked = messages.findLastIndex(isAsked);
  let before = 0;
  let behind = true;
  let inHead = true;
  // Nothing may stand behind a call that is still to be answered but its own message: no line that something was left out there.
  let opened = false;
  return messages.flatMap((message, index) => {
    const measure = measures[index] as Measure;
    const first = before;
    inHead &&= index < DEFAULT_PROTECT_HEAD && first + measure.tokens <= scale / HEAD_SHARE_OF_THRESHOLD;
    const together = index > 0 && measure.group !== null && measure.group === measures[index - 1]?.group;
    return messageSteps(message).map((parts, step): Unit => {
      const weighs = measure.steps[step] ?? 0;
      const newest = index === messages.length - 1 && step === measure.steps.length - 1;
      // One reply of a model, stored as several messages, is on one side of the line.
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
  return message.role === "user" && parseSyntheticId(message.id) === null && !isRecord(message);
}

/** A unit's parts, with its rules behind what the user said in it. */
function shownParts({ parts, rules }: Pick<Unit, "parts" | "rules">): Part[] {
  if (rules === "") return parts;
  const said: Part = { type: "text", text: rules };
  const steered = parts.findLastIndex(({ type }) => type === "steering-message");
  if (steered === -1) return [...parts, said];
  return parts.map((part, at) => (at === steered ? ({ ...part, parts: [...innerParts(part), said] } as Part) : part));
}

/** The pieces as messages: the very same object for one that nothing was changed in or taken from. */
export function putTogether(messages: readonly UIMessage[], pieces: readonly Piece[]): UIMessage[] {
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
export function weigh(pieces: readonly Piece[], count: CountTokens): number {
  return runs(pieces).reduce((sum, run) => {
    if (!isRun(run)) return sum + measureMessage(run, count).tokens;
    return sum + run.reduce((sofar, unit) => sofar + unit.tokens, MESSAGE_OVERHEAD_TOKENS);
  }, 0);
}

/** The unit with other parts and rules. */
export function withParts(unit: Unit, changed: Pick<Unit, "parts" | "rules">, count: CountTokens): Unit {
  return { ...unit, ...changed, tokens: weighParts(shownParts(changed), count) };
}

/** Estimated tokens of parts, without what surrounds a message. */
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

/** Units that follow one another in one message. */
function runs(pieces: readonly Piece[]): (Run | UIMessage)[] {
  const found: ([Unit, ...Unit[]] | UIMessage)[] = [];
  let last: Unit | null = null;
  for (const piece of pieces) {
    const run = found.at(-1);
    if (!isUnit(piece)) found.push(piece);
    else if (last?.message === piece.message && Array.isArray(run)) run.push(piece);
    else found.push([piece]);
    last = isUnit(piece) ? piece : null;
  }
  return found;
}
