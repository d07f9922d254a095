/**
 * Fits a view into its budget at once, without a model, and reduces it only as far as needed.
 *
 * Makes a view within its budget from any larger one, and reports the reductions. It serves the prompt that a model is
 * sent now. It stores nothing, so nothing is lost, and a later compaction does it better.
 *
 * Why it is safe:
 * - It tries a fixed series of reductions, gentlest first, and takes the first that fits. The last one always fits,
 *   unless open calls alone exceed the budget. Those are kept whatever their size.
 * - Whole steps stay or go, and none changes its place. Calls keep their results (V2), and order is kept (V1).
 * - All but the last resorts change only the part before a line that moves in large strides (units.ts). So the
 *   prompts of a tool loop share a prefix, and a provider's cache of it stays valid, although each prompt is fitted
 *   anew.
 * - The user's last message is shortened last, and its beginning always stays.
 * - A user's rule that is cut or left out is quoted beside the rest, within a share of the budget (rules.ts).
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { FIT_EXTRACT_SHARE, MIN_VIEW_TOKENS } from "../limits.ts";
import { extractiveMessage, notice } from "./extractive-summary.ts";
import { onlyOpenCalls, squeeze, withoutFiles, withoutReasoning } from "./lighten.ts";
import { Rules } from "./rules.ts";
import {
  countMessages,
  isUnit,
  putTogether,
  roundBudget,
  takeApart,
  weigh,
  weighParts,
  withParts,
  type FitElement,
  type ViewBudget,
  type Unit,
  type Zone,
} from "./units.ts";
import { wholeCharacters } from "../steps/draft/render.ts";
import { type CountTokens, isOpenCall, textsOf, type Part } from "../steps/message/message.ts";
import type { Template } from "../steps/draft/prompt.ts";
import { truncateParts, type Limits } from "./truncate.ts";
import { isSummary } from "../steps/view/view.ts";

/**
 * Least characters that the newest parts are shortened to before they are left out. The last question keeps a multiple
 * of it.
 */
const FIT_LEAST_CHARS = 200;
const FIT_ASKED_TIMES = 4;

/** Characters of one older tool output and of one older text in a fitted view, round by round. */
const FIT_OLDER_CHARS = [
  { output: 2_000, text: 10_000 },
  { output: 500, text: 4_000 },
  { output: 200, text: 1_000 },
] as const;

/** Least characters of the user's last message before the rules beside it are dropped. Its beginning shows the question. */
const FIT_ASKED_CHARS = 40;

export interface FitOptions {
  /** Most estimated tokens of the messages, at least `MIN_VIEW_TOKENS`. */
  readonly budget: number;
  readonly countTokens: CountTokens;
  /** The sections of an extractive summary. */
  readonly template?: Template | undefined;
}

/** One reduction that made a view fit. */
export interface FitStep {
  readonly what: "tool-outputs" | "texts" | "reasoning" | "files" | "oldest-summarized" | "newest-shortened";
  /** The number of messages that it changed. */
  readonly messages: number;
  /** Estimated tokens that it saved. */
  readonly tokens: number;
}

/** The reductions that made a view fit, in order. `originalTokens` is the estimate before them. */
export type Fitting =
  | { readonly kind: "whole" }
  | { readonly kind: "reduced"; readonly steps: readonly FitStep[]; readonly originalTokens: number };

export interface FittedMessages {
  readonly messages: UIMessage[];
  /** Estimated tokens of the messages. */
  readonly tokens: number;
  readonly fitted: Fitting;
}

/** The extent of one try. */
interface Reduction {
  /** Characters of an output and of a text before the line. */
  readonly older: Limits;
  /** Whether reasoning and files before the line are removed. */
  readonly light: boolean;
  /** The zones that an extractive summary replaces. */
  readonly gone: readonly Zone[];
  /** Characters of a text, an input or an output, except in the zones that {@link asked} limits. */
  readonly newest: number;
  /** Characters of a text in the user's last message and in system messages. */
  readonly asked: number;
}

interface Scene extends ViewBudget {
  readonly messages: readonly UIMessage[];
  readonly units: readonly Unit[];
  readonly count: CountTokens;
  readonly template: Template | undefined;
  readonly rules: Rules;
  readonly summarized: Map<string, FitState>;
}

interface FitState {
  readonly pieces: readonly FitElement[];
  readonly steps: readonly FitStep[];
}

/**
 * The messages of a repaired view within `budget` estimated tokens, as a list that the AI SDK accepts. Returns the same
 * array when they already fit. Throws `invalid_options` for a budget that is too small for any view.
 */
export function fitView(messages: UIMessage[], options: FitOptions): FittedMessages {
  const { budget, template, countTokens: count } = options;
  checkBudget("budget", budget);
  const originalTokens = weigh(messages, count);
  if (originalTokens <= budget) return { messages, tokens: originalTokens, fitted: { kind: "whole" } };
  const rounded = roundBudget(budget);
  const units = takeApart(messages, rounded, count);
  const rules = new Rules(messages, rounded.scale, count);
  const scene: Scene = { ...rounded, messages, units, count, template, rules, summarized: new Map() };
  const { pieces, steps } = firstThatFits(scene) ?? leastView(scene, budget);
  return {
    messages: putTogether(messages, pieces),
    tokens: weigh(pieces, count),
    fitted: { kind: "reduced", steps, originalTokens },
  };
}

/** Throws `invalid_options`. */
export function checkBudget(name: string, tokens: number): void {
  // Less does not hold the beginning of what was asked.
  if (Number.isFinite(tokens) && tokens >= MIN_VIEW_TOKENS) return;
  throw new PalimpsestError("invalid_options", `${name} is ${tokens}: give at least ${MIN_VIEW_TOKENS} tokens.`);
}

function firstThatFits(scene: Scene): FitState | null {
  for (const reduction of ladder(scene.scale)) {
    const draft = reduce(scene, reduction);
    if (weigh(draft.pieces, scene.count) <= scene.budget) return draft;
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
    // The user's message is cut less than the messages after it.
    for (let chars = scale * 4; chars >= FIT_LEAST_CHARS; chars /= 2) {
      const newest = Math.floor(chars);
      yield { ...light, gone, newest, asked: newest * FIT_ASKED_TIMES };
    }
  }
}

function reduce(scene: Scene, reduction: Reduction): FitState {
  const { older, light, newest, asked } = reduction;
  const summaries = scene.messages.map(isSummary);
  const behind = (unit: Unit): boolean =>
    unit.behind && (unit.zone === "head" || unit.zone === "older") && summaries[unit.message] !== true;
  let draft = summarizeGone(scene, reduction.gone);
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

/** Applies the change to each selected unit that becomes smaller by it. */
function changeUnits(scene: Scene, draft: FitState, { what, which, how }: Change): FitState {
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

/** Replaces each series of units in these zones by an extractive summary, where that is smaller. */
function summarizeGone(scene: Scene, gone: readonly Zone[]): FitState {
  const known = scene.summarized.get(gone.join());
  if (known !== undefined) return known;
  const { messages, units, count, template } = scene;
  const goes = units.filter((unit) => gone.includes(unit.zone));
  const all = weigh(goes, count);
  const kept = new Set(scene.rules.pick(putTogether(messages, goes)));
  const pieces: FitElement[] = [];
  const summarized: Unit[] = [];
  let saved = 0;
  const close = (gap: Unit[]): void => {
    const gone = putTogether(messages, gap);
    if (gone.length === 0) return;
    const weight = weigh(gap, count);
    const tokens = Math.floor((scene.scale * FIT_EXTRACT_SHARE * weight) / all);
    const rules = scene.rules.pick(gone).filter((line) => kept.has(line));
    const summary = extractiveMessage(gone, {
      tokens,
      template,
      messages: countMessages(gap),
      rules,
      countTokens: scene.count,
    });
    const freed = weight - weigh([summary], count);
    if (freed <= 0) {
      pieces.push(...gap);
      return;
    }
    pieces.push(summary);
    summarized.push(...gap);
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
  const step: FitStep = { what: "oldest-summarized", messages: countMessages(summarized), tokens: saved };
  const draft = { pieces, steps: summarized.length === 0 ? [] : [step] };
  scene.summarized.set(gone.join(), draft);
  return draft;
}

/**
 * The last resort: a notice of the omitted messages, the user's rules if there is room, the beginning of the user's
 * last message, and the open calls.
 */
function leastView(scene: Scene, budget: number): FitState {
  const { messages, units, count } = scene;
  const asked = units.find((unit) => unit.zone === "asked");
  const open = units.flatMap((unit) => {
    if (unit.zone !== "open" || !unit.parts.some(isOpenCall)) return [];
    return [withParts(unit, { parts: onlyOpenCalls(unit.parts), rules: "" }, count)];
  });
  const others = units.filter((unit) => unit !== asked);
  const gone = putTogether(messages, others);
  const text = asked === undefined ? "" : wordsOf(asked.parts);
  const tryOut = (chars: number, ruled: boolean): FitState => {
    const rules = ruled ? scene.rules.pick(gone) : [];
    const line = others.length === 0 ? [] : [notice(gone, { messages: countMessages(others), rules })];
    const parts: Part[] = [{ type: "text", text: beginningOf(text, chars) }];
    const beside = ruled && asked !== undefined ? scene.rules.lostFrom(asked, parts) : "";
    const left = asked === undefined ? [] : [withParts(asked, { parts, rules: beside }, count)];
    const pieces = [...line, ...left, ...open];
    const saved = weigh(units, count) - weigh(pieces, count);
    return { pieces, steps: [{ what: "newest-shortened", messages: countMessages(units), tokens: saved }] };
  };
  const fits = ({ pieces }: FitState): boolean => weigh(pieces, count) <= budget;
  for (const [ruled, least] of [
    [true, FIT_ASKED_CHARS],
    [false, 1],
  ] as const) {
    for (let chars = text.length; chars >= least || chars === text.length; chars = Math.floor(chars / 2)) {
      const draft = tryOut(chars, ruled);
      if (fits(draft)) return draft;
      if (chars === 0) break;
    }
  }
  return tryOut(0, false);
}

function wordsOf(parts: Part[]): string {
  return textsOf(withoutFiles(parts))
    .filter((text) => text !== "")
    .join("\n");
}

function beginningOf(text: string, chars: number): string {
  return text.length <= chars ? text : `${wholeCharacters(text, 0, chars)} […]`;
}
