/**
 * Makes the steps of a running turn fit behind the view, where a host keeps them as messages of the model.
 *
 * The user's request has its room first. The newest steps stay whole. Before them, results, inputs and texts are cut, the oldest first, and steps
 * that have no room even so are counted in a note. A message of the user among the steps stays whole.
 *
 * Why it is safe:
 * - A step is an assistant's message with its results. They stay or go together, so every call keeps its result (V2), and order is kept.
 * - What is cut depends on how often the steps have grown by a stride, not on each step. So the prompt of a step begins with the one before,
 *   but for one step in each stride, and a provider's cache holds.
 * - A step that is cut is no longer the provider's: it has no reasoning and no item ids (steps/view/items.ts).
 */
import type { ModelMessage } from "ai";
import { type CountTokens, valueTokens } from "../steps/message/message.ts";
import { cutMiddle } from "../steps/draft/render.ts";
import { MAX_CHARS_PER_TOKEN, MIN_VIEW_TOKENS } from "../limits.ts";
import type { FitStep } from "./fit-view.ts";
import { shortenShown } from "./truncate.ts";

/** The share of the room by which the steps grow between two changes of what is cut. So the prefix breaks at most once per three tenths of the window, which is a little larger. */
export const STRIDE_SHARE = 0.35;
/** The least share of the room for the view, and the most for a long request. */
const LEAST_VIEW_SHARE = 0.35;
const MOST_REQUEST_SHARE = 0.6;
/** Room around a request for what a fitted view says of the messages before it. */
const REQUEST_ROOM = 1.6;
const REQUEST_TOKENS = 200;
/** The share of the steps' room for those that stay whole. The others and the note have the rest. */
const WHOLE_SHARE = 0.85;
/** Characters of a result, an input and a text of a step that is cut. */
const CUT_CHARS = 200;
/** Tokens of the note, and tools that it names. */
const NOTE_TOKENS = 80;
const NAMED_TOOLS = 8;
/** Characters below which nothing of the newest step is cut. */
const LEAST_CHARS = 100;

export interface StepsOptions {
  /** Tokens for the view and the steps together. */
  readonly room: number;
  /** Tokens of the view when the turn began, and of the user's request in it. */
  readonly view: number;
  readonly request: number;
  readonly countTokens: CountTokens;
}

export interface FittedSteps {
  readonly messages: readonly ModelMessage[];
  /** Tokens of the messages and the note. */
  readonly tokens: number;
  /** Tokens that the view has to leave. */
  readonly reserved: number;
  /** Says what was left out, to stand before the steps. Null where nothing was. */
  readonly note: string | null;
  readonly reductions: readonly FitStep[];
}

interface Step {
  readonly messages: readonly ModelMessage[];
  readonly isUsers: boolean;
  readonly tokens: number;
  /** Tokens of the steps before it. */
  readonly start: number;
}

export function fitSteps(own: readonly ModelMessage[], options: StepsOptions): FittedSteps {
  const { room, countTokens } = options;
  const steps = stepsOf(own, countTokens);
  const total = steps.reduce((sum, { tokens }) => sum + tokens, 0);
  const whole = { messages: own, tokens: total, note: null, reductions: [] };
  if (room === Infinity || total === 0) return { ...whole, reserved: total };
  const stride = room * STRIDE_SHARE;
  const reached = stride * Math.ceil(total / stride);
  const budget = room - viewRoom(options);
  if (reached <= budget) return { ...whole, reserved: Math.floor(reached) };
  return { ...cutSteps(steps, { stride, budget, countTokens }), reserved: Math.floor(budget) };
}

/** Tokens that the view has at least, which is no more than it needs. */
function viewRoom({ room, view, request }: StepsOptions): number {
  const wanted = Math.min(room * MOST_REQUEST_SHARE, request * REQUEST_ROOM + REQUEST_TOKENS);
  return Math.min(Math.max(room * LEAST_VIEW_SHARE, wanted), Math.max(MIN_VIEW_TOKENS, view));
}

interface Cutting {
  readonly stride: number;
  readonly budget: number;
  readonly countTokens: CountTokens;
}

function cutSteps(
  steps: readonly Step[],
  { stride, budget, countTokens: count }: Cutting,
): Omit<FittedSteps, "reserved"> {
  const tokensOf = (messages: readonly ModelMessage[]): number => valueTokens(messages, count);
  const whole = budget * WHOLE_SHARE;
  const most = Math.max(whole - stride, whole / 2);
  const shown = inOrder(steps.map((step) => within(step, most, tokensOf)));
  const total = shown.reduce((sum, { tokens }) => sum + tokens, 0);
  // The newest step stays whole in any case, because a loop that does not see it makes the same call again.
  const newest = shown.findLast(({ isUsers }) => !isUsers)?.start ?? 0;
  const line = Math.min(stride * Math.ceil(total / stride) - whole, newest);
  const kept = new Map<Step, readonly ModelMessage[]>();
  const leftOut: Step[] = [];
  const reduced: Record<"tool-outputs" | "oldest-summarized", FitStep[]> = {
    "tool-outputs": [],
    "oldest-summarized": [],
  };
  let left = budget - whole - NOTE_TOKENS;
  for (const step of shown.toReversed()) {
    if (step.isUsers || step.start >= line) kept.set(step, step.messages);
    else {
      const cut = step.messages.map((message) => cutMessage(message, CUT_CHARS));
      const tokens = tokensOf(cut);
      left -= tokens;
      if (left >= 0) kept.set(step, cut);
      else leftOut.push(step);
      const what = left >= 0 ? "tool-outputs" : "oldest-summarized";
      const saved = left >= 0 ? step.tokens - tokens : step.tokens;
      if (saved > 0) reduced[what].push({ what, messages: step.messages.length, tokens: saved });
    }
  }
  const messages = shown.flatMap((step) => kept.get(step) ?? []);
  const note = leftOut.length === 0 ? null : noteOf(leftOut);
  return {
    messages,
    tokens: tokensOf(messages) + (note === null ? 0 : count(note)),
    note,
    reductions: Object.values(reduced).flatMap(summed),
  };
}

function summed(steps: readonly FitStep[]): FitStep[] {
  const [first] = steps;
  if (first === undefined) return [];
  const sum = (of: "messages" | "tokens"): number => steps.reduce((all, step) => all + step[of], 0);
  return [{ what: first.what, messages: sum("messages"), tokens: sum("tokens") }];
}

/** The steps, each with the tokens of those before it. */
function inOrder(steps: readonly Omit<Step, "start">[]): Step[] {
  let before = 0;
  return steps.map((step) => {
    const start = before;
    before += step.tokens;
    return { ...step, start };
  });
}

/** A step whose results are cut as far as its room asks for. */
function within(step: Step, room: number, tokensOf: (messages: readonly ModelMessage[]) => number): Step {
  if (step.isUsers || step.tokens <= room) return step;
  for (let chars = room * MAX_CHARS_PER_TOKEN; ; chars /= 2) {
    const messages = step.messages.map((message) => cutMessage(message, Math.max(LEAST_CHARS, Math.floor(chars))));
    const tokens = tokensOf(messages);
    if (tokens <= room || chars < LEAST_CHARS) return { ...step, messages, tokens };
  }
}

function stepsOf(own: readonly ModelMessage[], count: CountTokens): Step[] {
  const groups: ModelMessage[][] = [];
  for (const message of own) {
    const group = groups.at(-1);
    if (message.role === "tool" && group !== undefined) group.push(message);
    else groups.push([message]);
  }
  return inOrder(
    groups.map((messages) => ({
      messages,
      isUsers: messages[0]?.role === "user",
      tokens: messages.reduce((sum, message) => sum + sizeOf(message, count), 0),
    })),
  );
}

/** Sizes of messages, because a loop of hundreds of steps asks for each at every step. */
const SIZES = new WeakMap<CountTokens, WeakMap<ModelMessage, number>>();

function sizeOf(message: ModelMessage, count: CountTokens): number {
  const sizes = SIZES.get(count) ?? new WeakMap<ModelMessage, number>();
  SIZES.set(count, sizes);
  const size = sizes.get(message) ?? valueTokens(message, count);
  sizes.set(message, size);
  return size;
}

function cutMessage(message: ModelMessage, chars: number): ModelMessage {
  if (message.role !== "assistant" && message.role !== "tool") return message;
  if (typeof message.content === "string") return { role: "assistant", content: cutMiddle(message.content, chars) };
  const content = message.content.filter(({ type }) => type !== "reasoning").map((part) => cutPart(part, chars));
  return { ...message, content } as ModelMessage;
}

function cutPart(part: object, chars: number): object {
  const { type, text, input, output, providerExecuted } = part as Record<string, unknown>;
  if (providerExecuted === true) return part;
  if (type === "text" && typeof text === "string") return withoutItem({ ...part, text: cutMiddle(text, chars) });
  if (type === "tool-call") return withoutItem({ ...part, input: shortenShown(input, chars) });
  if (type !== "tool-result" || typeof output !== "object" || output === null) return part;
  const { value } = output as { value?: unknown };
  if (typeof value === "string") return { ...part, output: { ...output, value: cutMiddle(value, chars) } };
  return value === undefined ? part : { ...part, output: { ...output, value: shortenShown(value, chars) } };
}

/** A part as words of our own, because the provider's copy says more. */
function withoutItem(part: object): object {
  const { providerOptions, ...rest } = part as { providerOptions?: Record<string, Record<string, unknown>> };
  if (providerOptions === undefined) return rest;
  const kept = Object.entries(providerOptions).map(([provider, { itemId: _id, ...options }]) => [provider, options]);
  return { ...rest, providerOptions: Object.fromEntries(kept) as unknown };
}

function noteOf(steps: readonly Step[]): string {
  const calls = new Map<string, number>();
  for (const { content } of steps.flatMap(({ messages }) => messages)) {
    for (const part of typeof content === "string" ? [] : content) {
      if (part.type === "tool-call") calls.set(part.toolName, (calls.get(part.toolName) ?? 0) + 1);
    }
  }
  const named = [...calls].toSorted(([, a], [, b]) => b - a).slice(0, NAMED_TOOLS);
  const told = named.map(([name, times]) => `${name.slice(0, 40)} ${times}`).join(", ");
  return `[${steps.length} steps of this turn left out to fit${told === "" ? "" : `, with calls: ${told}`}]`;
}
