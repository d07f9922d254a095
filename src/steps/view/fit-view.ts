/**
 * A view that always fits: made smaller on the spot, without a model, and only as far as needed.
 *
 * Job: of a view that is over its room make one that is not, whatever it holds; say what was done. Boundary: for what a
 * model is sent now. Nothing is stored, so nothing is lost; a compaction does it better, when it gets the time.
 *
 * Why it is safe:
 * - It tries a fixed row of reductions, gentlest first, and takes the first that fits. The last one always does, unless a call
 *   that is still to be answered alone does not: that is kept as it is, whatever it weighs.
 * - Whole steps stay or go, and none changes its place: calls keep their results (V2), order is kept (V1).
 * - All but the last resorts touch only what is before a line that moves in coarse strides (fit-view/units.ts). So a tool
 *   loop's prompts begin alike, and a provider's cache of them holds, though each is made smaller anew.
 * - The user's last message is shortened last, and its beginning is always there.
 * - A rule of the user that is cut or left out stands beside what is left, within a share of the room (fit-view/rules.ts).
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { FIT_DIGEST_SHARE, MIN_VIEW_TOKENS } from "../../limits.ts";
import { digestMessage, notice } from "./fit/digest.ts";
import { onlyOpenCalls, squeeze, withoutFiles, withoutReasoning } from "./fit/lighten.ts";
import { Rules } from "./fit/rules.ts";
import {
  countMessages,
  isUnit,
  putTogether,
  roundRoom,
  takeApart,
  weigh,
  weighParts,
  withParts,
  type Piece,
  type Room,
  type Unit,
  type Zone,
} from "./fit/units.ts";
import type { CountTokens } from "../message/measure.ts";
import type { Template } from "../draft/template.ts";
import { fieldText, isOpenCall, type Part } from "../message/tool-parts.ts";
import { truncateParts, type Limits } from "./truncate.ts";
import { isSummary } from "./view.ts";

/** Characters to which the newest parts of a fitted view are shortened at least, before they go; the last question keeps more. */
const FIT_LEAST_CHARS = 200;
const FIT_ASKED_TIMES = 4;

/** Characters of one older tool output and of one older text in a fitted view, round by round. */
const FIT_OLDER_CHARS = [
  { output: 2_000, text: 10_000 },
  { output: 500, text: 4_000 },
  { output: 200, text: 1_000 },
] as const;

/** Characters to which what was asked is cut at least before the rules beside it are given up: its beginning tells what it is. */
const FIT_ASKED_CHARS = 40;

export interface FitOptions {
  /** Most estimated tokens that the messages may take: at least `MIN_VIEW_TOKENS`. */
  readonly room: number;
  readonly countTokens: CountTokens;
  /** The sections of a digest. */
  readonly template?: Template | undefined;
}

/** One thing that was done to make a view fit. */
export interface FitStep {
  readonly what: "tool-outputs" | "texts" | "reasoning" | "files" | "oldest-digested" | "newest-shortened";
  /** How many messages were touched. */
  readonly messages: number;
  /** Estimated tokens that it saved. */
  readonly tokens: number;
}

/** What was done to make a view fit, in the order in which it was done; `originalTokens` is what it was estimated at before. */
export type Fitting =
  | { readonly kind: "whole" }
  | { readonly kind: "reduced"; readonly steps: readonly FitStep[]; readonly originalTokens: number };

export interface FittedMessages {
  readonly messages: UIMessage[];
  /** Estimated tokens of the messages. */
  readonly tokens: number;
  readonly fitted: Fitting;
}

/** How far one try goes. */
interface Reduction {
  /** Characters of an output and of a text before the line. */
  readonly older: Limits;
  /** Whether reasoning and files before the line go. */
  readonly light: boolean;
  /** What a digest stands for. */
  readonly gone: readonly Zone[];
  /** Characters of a text, an input or an output behind the line. */
  readonly newest: number;
  /** The same in what the user said last, and in system messages. */
  readonly asked: number;
}

interface Scene extends Room {
  readonly messages: readonly UIMessage[];
  readonly units: readonly Unit[];
  readonly count: CountTokens;
  readonly template: Template | undefined;
  readonly rules: Rules;
  readonly digested: Map<string, Draft>;
}

interface Draft {
  readonly pieces: readonly Piece[];
  readonly steps: readonly FitStep[];
}

/**
 * The messages of a repaired view, in at most `room` estimated tokens, as a list that the AI SDK accepts; the same array
 * when they are already. Throws `invalid_options` for a room that is too small for any view.
 */
export function fitView(messages: UIMessage[], options: FitOptions): FittedMessages {
  const { room, template, countTokens: count } = options;
  checkRoom("room", room);
  const originalTokens = weigh(messages, count);
  if (originalTokens <= room) return { messages, tokens: originalTokens, fitted: { kind: "whole" } };
  const rounded = roundRoom(room);
  const units = takeApart(messages, rounded, count);
  const rules = new Rules(messages, rounded.scale, count);
  const scene: Scene = { ...rounded, messages, units, count, template, rules, digested: new Map() };
  const { pieces, steps } = firstThatFits(scene) ?? leastView(scene, room);
  return {
    messages: putTogether(messages, pieces),
    tokens: weigh(pieces, count),
    fitted: { kind: "reduced", steps, originalTokens },
  };
}

/** Throws `invalid_options`. */
export function checkRoom(name: string, tokens: number): void {
  if (Number.isFinite(tokens) && tokens >= MIN_VIEW_TOKENS) return;
  throw new PalimpsestError(
    "invalid_options",
    `${name} is ${tokens}: give at least ${MIN_VIEW_TOKENS} tokens. Less does not hold the beginning of what was asked.`,
  );
}

function firstThatFits(scene: Scene): Draft | null {
  for (const reduction of ladder(scene.scale)) {
    const draft = reduce(scene, reduction);
    if (weigh(draft.pieces, scene.count) <= scene.room) return draft;
  }
  return null;
}

/** Every try, the gentlest first. */
function* ladder(scale: number): Generator<Reduction> {
  const whole = { light: false, gone: [], newest: Infinity, asked: Infinity };
  for (const older of FIT_OLDER_CHARS) yield { ...whole, older };
  const light: Reduction = { ...whole, older: FIT_OLDER_CHARS[2], light: true };
  yield light;
  for (const gone of [["older"], ["older", "head"], ["older", "head", "newest"]] as const) {
    yield { ...light, gone };
    // What was asked is cut less than what came of it.
    for (let chars = scale * 4; chars >= FIT_LEAST_CHARS; chars /= 2) {
      const newest = Math.floor(chars);
      yield { ...light, gone, newest, asked: newest * FIT_ASKED_TIMES };
    }
  }
}

function reduce(scene: Scene, reduction: Reduction): Draft {
  const { older, light, newest, asked } = reduction;
  const summaries = scene.messages.map(isSummary);
  const behind = (unit: Unit): boolean =>
    unit.behind && (unit.zone === "head" || unit.zone === "older") && summaries[unit.message] !== true;
  let draft = digestGone(scene, reduction.gone);
  const change = (what: FitStep["what"], which: Change["which"], how: Change["how"]): void => {
    draft = changeUnits(scene, draft, { what, which, how });
  };
  change("tool-outputs", behind, (parts) => truncateParts(parts, { ...older, text: Infinity }));
  change("texts", behind, (parts) => truncateParts(parts, { ...older, output: Infinity }));
  if (light) change("reasoning", behind, withoutReasoning);
  if (light) change("files", behind, withoutFiles);
  if (newest === Infinity) return draft;
  const limits: Record<Zone, number> = { head: newest, older: newest, newest, open: newest, system: asked, asked };
  change(
    "newest-shortened",
    () => true,
    (parts, unit) => squeeze(parts, limits[unit.zone]),
  );
  return draft;
}

interface Change {
  readonly what: FitStep["what"];
  readonly which: (unit: Unit) => boolean;
  readonly how: (parts: Part[], unit: Unit) => Part[];
}

/** Takes the change of a unit only where it makes it smaller. */
function changeUnits(scene: Scene, draft: Draft, { what, which, how }: Change): Draft {
  const touched: Unit[] = [];
  let saved = 0;
  const pieces = draft.pieces.map((piece) => {
    if (!isUnit(piece) || !which(piece)) return piece;
    const parts = how(piece.parts, piece);
    if (parts === piece.parts) return piece;
    if (weighParts(parts, scene.count) >= piece.tokens) return piece;
    const changed = withParts(piece, { parts, rules: scene.rules.lostFrom(piece, parts) }, scene.count);
    if (changed.tokens >= piece.tokens) return piece;
    touched.push(piece);
    saved += piece.tokens - changed.tokens;
    return changed;
  });
  if (touched.length === 0) return draft;
  return { pieces, steps: [...draft.steps, { what, messages: countMessages(touched), tokens: saved }] };
}

/** Puts a digest in the place of each row of units in these zones, where that is smaller. */
function digestGone(scene: Scene, gone: readonly Zone[]): Draft {
  const known = scene.digested.get(gone.join());
  if (known !== undefined) return known;
  const { messages, units, count, template } = scene;
  const goes = units.filter((unit) => gone.includes(unit.zone));
  const all = weigh(goes, count);
  const kept = new Set(scene.rules.pick(putTogether(messages, goes)).map(({ value }) => value));
  const pieces: Piece[] = [];
  const digested: Unit[] = [];
  let saved = 0;
  const close = (gap: Unit[]): void => {
    if (gap.length === 0) return;
    const weight = weigh(gap, count);
    const tokens = Math.floor((scene.scale * FIT_DIGEST_SHARE * weight) / all);
    const gone = putTogether(messages, gap);
    const rules = scene.rules.pick(gone).filter(({ value }) => kept.has(value));
    const digest = digestMessage(gone, {
      tokens,
      template,
      messages: countMessages(gap),
      rules,
      countTokens: scene.count,
    });
    const freed = weight - weigh([digest], count);
    if (freed <= 0) {
      pieces.push(...gap);
      return;
    }
    pieces.push(digest);
    digested.push(...gap);
    saved += freed;
  };
  let gap: Unit[] = [];
  for (const unit of units) {
    if (gone.includes(unit.zone)) {
      gap.push(unit);
      continue;
    }
    close(gap);
    gap = [];
    pieces.push(unit);
  }
  close(gap);
  const step: FitStep = { what: "oldest-digested", messages: countMessages(digested), tokens: saved };
  const draft = { pieces, steps: digested.length === 0 ? [] : [step] };
  scene.digested.set(gone.join(), draft);
  return draft;
}

/**
 * When nothing else fits: how much is left out, the user's rules if they find room, the beginning of what was asked, and the calls
 * that wait for an answer.
 */
function leastView(scene: Scene, room: number): Draft {
  const { messages, units, count } = scene;
  const asked = units.find((unit) => unit.zone === "asked");
  const open = units.flatMap((unit) => {
    if (unit.zone !== "open" || !unit.parts.some(isOpenCall)) return [];
    return [withParts(unit, { parts: onlyOpenCalls(unit.parts), rules: "" }, count)];
  });
  const others = units.filter((unit) => unit !== asked);
  const gone = putTogether(messages, others);
  const said = asked === undefined ? "" : wordsOf(asked.parts);
  const tryOut = (chars: number, ruled: boolean): Draft => {
    const rules = ruled ? scene.rules.pick(gone) : [];
    const line = others.length === 0 ? [] : [notice(gone, { messages: countMessages(others), rules })];
    const parts: Part[] = [{ type: "text", text: beginningOf(said, chars) }];
    const beside = ruled && asked !== undefined ? scene.rules.lostFrom(asked, parts) : "";
    const left = asked === undefined ? [] : [withParts(asked, { parts, rules: beside }, count)];
    const pieces = [...line, ...left, ...open];
    const saved = weigh(units, count) - weigh(pieces, count);
    return { pieces, steps: [{ what: "newest-shortened", messages: countMessages(units), tokens: saved }] };
  };
  const fits = ({ pieces }: Draft): boolean => weigh(pieces, count) <= room;
  for (const [ruled, least] of [
    [true, FIT_ASKED_CHARS],
    [false, 1],
  ] as const) {
    for (let chars = said.length; chars >= least || chars === said.length; chars = Math.floor(chars / 2)) {
      const draft = tryOut(chars, ruled);
      if (fits(draft)) return draft;
      if (chars === 0) break;
    }
  }
  return tryOut(0, false);
}

function wordsOf(parts: Part[]): string {
  const texts = withoutFiles(parts).map((part) => (part.type === "text" ? fieldText(part.text) : ""));
  return texts.filter((text) => text !== "").join("\n");
}

function beginningOf(text: string, chars: number): string {
  if (text.length <= chars) return text;
  // Never half of a character.
  return `${text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, "")} […]`;
}
