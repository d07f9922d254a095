/**
 * A turn of a model that is stored in a session while it runs, for the tool loops of the AI SDK (`streamText`, `generateText`, agents).
 *
 * Before each model step it asks the session for its view. After each step it stores the output and then records the provider's count. The
 * caller calls the model, and decides on tools, retries and the end of the turn.
 *
 * Safe because the SDK awaits `onStepEnd` before it prepares the next step. So the view of a step holds all earlier steps, each stored
 * whole, and a crash loses only the running step. Of a step that is stopped, what came of it is stored. A step that cannot be stored ends the turn before the next model call, so no call is paid
 * for on a view without it.
 *
 * Steps are only added to the reply. So the prompt of a step begins with the previous step's prompt, byte for byte, unless an overlay came
 * between or the view had to be made to fit. Thoughts that are bound to another beginning are left out then (thoughts.ts). No step gets more than its limit, however many steps a turn has.
 */
import {
  convertToModelMessages,
  type ModelMessage,
  type StepResult,
  type Tool,
  type ToolSet,
  type UIMessage,
} from "ai";
import { MAX_NAME_CHARS, MESSAGE_OVERHEAD_TOKENS, MIN_VIEW_TOKENS } from "../limits.ts";
import { checkFields, type FieldNames } from "../known-fields.ts";
import { repairMessages } from "../steps/view/repair.ts";
import { inTurns } from "../steps/view/turns.ts";
import { callKey } from "../steps/view/accepted.ts";
import { isSaid, jsonText, toolName, toolPart, type Part, type ToolPart } from "../steps/message/message.ts";
import { isTokenCount } from "../agent/reports/usage.ts";
import type { UsageReport } from "../agent/reports/usage-report.ts";
import { ReplyWriter } from "./reply-writer.ts";
import { answerCalls, firstResults, resultOf, type StepBegun, type ToolEnded } from "./call-results.ts";
import type { Session } from "../agent/sessions/session.ts";
import { checkViewOptions, type Fitted, type GetViewOptions, type ShownView } from "../agent/sessions/shown-view.ts";
import { showingBytes } from "./model-output.ts";
import { plain } from "./plain.ts";
import { Reminders } from "./reminders.ts";
import { RunningStep, type ChunkCame } from "./running-step.ts";
import { stepParts, stoppedParts, withOwnIds } from "./step-parts.ts";
import { Thoughts } from "./thoughts.ts";

/** What a view shows, and how large it may be. */
export interface ViewOptions extends Omit<GetViewOptions, "apart"> {
  /**
   * Most tokens of a step's prompt as the provider would count it, which is the model's window less its answer. By default messages may
   * take twice the session's threshold, where it has one. Infinity is no limit.
   */
  readonly maxTokens?: number | undefined;
  /** Called with the omitted or shortened parts, each time that a step's view had to be made to fit. */
  readonly onReduced?: ((fitted: Extract<Fitted, { kind: "reduced" }>) => void) | undefined;
  /** For tools that define what a model sees of their output (`toModelOutput`). */
  readonly tools?: ToolSet | undefined;
}

/** How a turn is kept. */
export interface TurnOptions extends Omit<ViewOptions, "leafId"> {
  /** The stored assistant message to which the turn's steps are added. It may be empty. */
  readonly replyId: string;
}

const TURN_OPTIONS: FieldNames<Omit<TurnOptions, "replyId">> = {
  maxTokens: true,
  onReduced: true,
  tools: true,
  truncate: true,
  asOf: true,
};
const VIEW_OPTIONS: FieldNames<ViewOptions> = { ...TURN_OPTIONS, leafId: true };

/**
 * A `prepareStep` that sends the session's current view. A summary that lands in the middle of a turn is used by the next step. For callers
 * that store the turn's steps themselves, each before the next begins. See {@link keepTurn}. Throws `invalid_options`.
 */
export function viewBeforeStep(session: Session, options: ViewOptions = {}): KeptTurn["prepareStep"] {
  checkFields("viewBeforeStep", options, VIEW_OPTIONS);
  checkLimits(options);
  return async (step) => {
    const reminder = await session.reminderOfRooms();
    return { messages: (await nextPrompt(session, { ...options, step, reminder })).messages };
  };
}

/** Callbacks to spread into `streamText` or `generateText`, which take those that they know. */
export interface KeptTurn<S extends Session = Session> {
  /**
   * The session's current view, with the results of calls that a person approved, which the SDK itself added. Throws like `mustBeKept`, so
   * that no call is paid for after a lost step.
   */
  prepareStep(step?: StepBegun): Promise<{ messages: ModelMessage[] }>;
  /**
   * Stores the output of a call that a person approved, which belongs to no step of this turn, and of one that ends after the turn was
   * stopped.
   */
  onToolExecutionEnd(ended: ToolEnded): Promise<void>;
  /** Notes what comes of a step. */
  onChunk(came: ChunkCame): void;
  /** Stores what came of the step that was stopped: its text so far, and its calls with the results that they have. */
  onAbort(): Promise<void>;
  /** Stores the calls of a step that failed after they had run. */
  onStepError(): Promise<void>;
  /** Stores a step, and then records the provider's count. */
  onStepEnd(step: StepResult<ToolSet>): Promise<void>;
  /**
   * Call it when the model is done, because the SDK does not report a last step that could not be stored. Throws the reason, which is
   * `unknown_message` when the reply was deleted or the session cleared meanwhile, `session_ended` or `message_too_large`.
   */
  mustBeKept(): void;
  /** The session of the reply. It is the one that the turn began in, or its child after a split. */
  session(): S;
}

/**
 * Stores a turn step by step in the reply `replyId`, and sends each step the view up to it. Throws `invalid_options`, `unknown_message` for
 * the reply.
 */
export function keepTurn<S extends Session>(given: S, { replyId, ...options }: TurnOptions): KeptTurn<S> {
  const session = given.fixed;
  checkFields("keepTurn", options, TURN_OPTIONS);
  checkLimits(options);
  const reply = new ReplyWriter(session, replyId);
  let sent: ShownView | null = null;
  let failure: { readonly error: unknown } | null = null;
  /** Whether the SDK is past the calls of earlier turns. Calls that run from then on belong to a step. */
  let hasBegun = false;
  /** Set once the turn was stopped. */
  let stopping: Promise<void> | null = null;
  const running = new RunningStep();
  const reminders = new Reminders();
  const thoughts = new Thoughts(reply.session.thoughtNotes);
  const outputs = new Map<string, unknown>();
  const mustBeKept = (): void => {
    if (failure !== null) throw failure.error;
  };
  const keep = async (work: () => void | Promise<void>): Promise<void> => {
    mustBeKept();
    try {
      await work();
    } catch (error) {
      // The SDK swallows an error of a callback and would go on.
      failure = { error };
      throw error;
    }
  };
  const stop = (): Promise<void> =>
    (stopping ??= keep(async () => {
      const parts = await stoppedParts(running.take(), options.tools);
      if (parts.some(isSaid)) reply.add(parts);
    }));
  return {
    mustBeKept,
    // Of the same agent as the given one, so it has the same rooms.
    session: () => reply.session as S,
    prepareStep: async (step) => {
      mustBeKept();
      hasBegun ||= step !== undefined;
      const results = firstResults(step);
      if (results.size > 0) await keep(() => reply.answer(results));
      // The session in which the turn began, because its system prompt stays in use to the end.
      const reminder = await session.reminderOfRooms();
      const asked = { ...options, leafId: replyId, reminder, reminders, step, outputs };
      const { view, messages } = await nextPrompt(reply.session, asked);
      sent = view;
      return { messages: thoughts.bound(messages, { instructions: step?.instructions, tools: options.tools }) };
    },
    onToolExecutionEnd: async (ended) => {
      if (hasBegun && stopping === null) return running.toolEnded(ended);
      await stopping;
      await keep(() => reply.answer(resultOf(ended)));
    },
    onChunk: (came) => running.came(came),
    onAbort: stop,
    onStepError: async () => {
      if (running.hasRun) await stop();
    },
    onStepEnd: async (step) => {
      running.forget();
      keepOutputs(outputs, step, options.tools);
      await keep(async () => reply.add(await stepParts(step, options.tools)));
      thoughts.made(withOwnIds(step.content));
      const report = { ...usageOf(step), leafId: replyId, viewTokens: sent?.tokens };
      // A failure to record usage must not lose the call's answer.
      await reply.session.recordUsage(report).catch(() => undefined);
    },
  };
}

/** The provider's counts of a step, as {@link Session.recordUsage} takes them. A count that is missing is 0. */
export function usageOf({ usage, model }: StepResult<ToolSet>): UsageReport {
  return {
    inputTokens: countedTokens(usage.inputTokens),
    outputTokens: countedTokens(usage.outputTokens),
    cachedTokens: countedTokens(usage.inputTokenDetails?.cacheReadTokens),
    writtenTokens: countedTokens(usage.inputTokenDetails?.cacheWriteTokens),
    model: `${model.provider}:${model.modelId}`.slice(0, MAX_NAME_CHARS),
  };
}

/** Returns 0, which means unknown, for a value that is no count. */
function countedTokens(tokens: number | undefined): number {
  return isTokenCount(tokens) ? tokens : 0;
}

/** A prompt for one step of a turn. */
export interface Prompt {
  /** The view that it was made from. */
  readonly view: ShownView;
  /** The messages for the model. */
  readonly messages: ModelMessage[];
  /** Whether the SDK acts on the last of them before it asks the model, so that nothing may stand behind it. */
  readonly isActedOn: boolean;
}

/** How a prompt is made. */
export interface PromptOptions extends ViewOptions {
  /** The end of the prompt, which is not stored. Null for none. */
  readonly reminder: string | null;
  /** Those of the turn's earlier steps, which stay in their places. */
  readonly reminders?: Reminders | undefined;
  /** The argument of `prepareStep`. Undefined for the prompt that the SDK begins with. */
  readonly step: StepBegun | undefined;
  /** What tools of this turn returned, by the keys of their calls, where a message has it in another form. */
  readonly outputs?: ReadonlyMap<string, unknown> | undefined;
  /** Replaces a message of the view before the view is made to fit. */
  readonly as?: ((message: UIMessage) => UIMessage) | undefined;
  /** Replaces a message of the view before it is sent. */
  readonly replace?: ((message: UIMessage) => UIMessage) | undefined;
}

/** The view's messages, followed by the changes of context blocks since the system prompt was frozen. */
export async function nextPrompt(session: Session, options: PromptOptions): Promise<Prompt> {
  const { leafId, truncate, tools, onReduced, reminder, step, maxTokens = session.turnTokens ?? Infinity } = options;
  const reminders = options.reminders ?? new Reminders();
  const budget = withoutReminder(maxTokens, remindersTokens(session, reminders.texts(reminder)));
  const view = await session.viewWith({ leafId, truncate, maxTokens: budget }, options.as);
  if (view.fitted?.kind === "reduced") onReduced?.(view.fitted);
  // Results of calls that are open in the view, or that the view closed without a result.
  const results = firstResults(step);
  const sent = options.replace === undefined ? view.messages : view.messages.map(options.replace);
  const answered =
    results.size === 0
      ? sent
      : sent.map((each) => ({ ...each, parts: answerCalls(each.parts, (call) => results.get(call.toolCallId)) }));
  // The model is asked now. So a call with an `execute` of the server's own that a crash cut off will not run any more.
  const canBeAnswered = (call: ToolPart): boolean =>
    call.state !== "input-available" || tools?.[toolName(call)]?.execute === undefined;
  const shown = inTurns(repairMessages(answered, { canBeAnswered }), { tools });
  const showing = showingBytes(tools, shown);
  const messages = await convertToModelMessages(
    shown,
    showing === undefined ? {} : { tools: knowingReturned(showing, options.outputs) },
  );
  // The SDK acts on a person's answer to a call before the first step, and only where the answer stands last in its initial messages.
  const isActedOn = step === undefined && shown.at(-1)?.parts.some(isAnsweredApproval) === true;
  return {
    view,
    messages: isActedOn ? messages : reminders.put(messages, reminder),
    isActedOn,
  };
}

type ToModelOutput = NonNullable<Tool["toModelOutput"]>;

/** The tools, with a `toModelOutput` that knows what a tool returned before it was stored as JSON. */
function knowingReturned(tools: ToolSet, outputs: ReadonlyMap<string, unknown> = new Map()): ToolSet {
  const shown: ToolSet = { ...tools };
  for (const [name, own] of Object.entries(tools)) {
    const { toModelOutput } = own;
    if (toModelOutput !== undefined)
      shown[name] = { ...own, toModelOutput: ofReturned(toModelOutput.bind(own), outputs) };
  }
  return shown;
}

/**
 * Asks about what the tool returned, where this turn has it. A later turn has its JSON alone, and a function that cannot read that does not end
 * the turn: the JSON itself is sent.
 */
function ofReturned(toModelOutput: ToModelOutput, outputs: ReadonlyMap<string, unknown>): ToModelOutput {
  return async (result) => {
    const key = callKey(result.toolCallId);
    const returned = outputs.get(key);
    const isWhole = outputs.has(key) && jsonText(plain(returned)) === jsonText(result.output);
    try {
      return await toModelOutput(isWhole ? { ...result, output: returned } : result);
    } catch {
      if (typeof result.output === "string") return { type: "text", value: result.output };
      return { type: "json", value: plain(result.output) ?? null };
    }
  };
}

/** Notes what the step's tools returned, for those that show the model a form of their own. */
function keepOutputs(outputs: Map<string, unknown>, { content }: StepResult<ToolSet>, tools: ToolSet = {}): void {
  for (const part of withOwnIds(content)) {
    if (part.type !== "tool-result" || tools[part.toolName]?.toModelOutput === undefined) continue;
    const output: unknown = part.output;
    if (typeof output === "object" && output !== null) outputs.set(callKey(part.toolCallId), output);
  }
}

function isAnsweredApproval(part: Part): boolean {
  return toolPart(part)?.state === "approval-responded";
}

export function remindersTokens(session: Session, texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + session.countTokens(text) + MESSAGE_OVERHEAD_TOKENS, 0);
}

/** The limit without the reminder's tokens. It is at least the least view, so that no step fails in the middle of a turn. */
function withoutReminder(maxTokens: number, reminderTokens: number): number | undefined {
  if (maxTokens === Infinity) return undefined;
  return reminderTokens === 0 ? maxTokens : Math.max(MIN_VIEW_TOKENS, maxTokens - reminderTokens);
}

/** Checks the limits before the turn, because nothing is refused in the middle of one. */
function checkLimits({ maxTokens, truncate }: GetViewOptions): void {
  checkViewOptions({ truncate, maxTokens: maxTokens === Infinity ? undefined : maxTokens });
}
