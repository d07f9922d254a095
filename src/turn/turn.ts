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
import type { ModelMessage, StepResult, ToolSet } from "ai";
import { MAX_NAME_CHARS } from "../limits.ts";
import { checkFields, type FieldNames } from "../known-fields.ts";
import { isSaid } from "../steps/message/message.ts";
import { isTokenCount } from "../agent/reports/usage.ts";
import type { UsageReport } from "../agent/reports/usage-report.ts";
import { ReplyWriter } from "./reply-writer.ts";
import { firstResults, resultOf, type StepBegun, type ToolEnded } from "./call-results.ts";
import type { Session } from "../agent/sessions/session.ts";
import { checkViewOptions, type GetViewOptions, type ShownView } from "../agent/sessions/shown-view.ts";
import { Prompts, type ViewOptions } from "./prompts.ts";
import { keepReturned } from "./returned.ts";
import { RunningStep, type ChunkCame } from "./running-step.ts";
import { stepParts, stoppedParts, withOwnIds } from "./step-parts.ts";

/** How a turn is kept. */
export interface TurnOptions extends Omit<ViewOptions, "leafId"> {
  /** The stored assistant message to which the turn's steps are added. It may be empty. */
  readonly replyId: string;
}

const TURN_OPTIONS: FieldNames<Omit<TurnOptions, "replyId">> = {
  maxTokens: true,
  onReduced: true,
  tools: true,
  convertDataPart: true,
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
  const prompts = new Prompts(session, options);
  let noted = 0;
  return async (step) => {
    const { steps = [] } = step ?? {};
    for (const { content } of steps.slice(noted)) prompts.made(content);
    noted = steps.length;
    const reminder = await session.reminderOfRooms();
    const leafId = options.leafId ?? (await session.getLatestLeaf())?.id;
    const { messages } = await prompts.next({ session, leafId, reminder, step });
    // The caller stores the step, and nobody tells of the last one.
    session.promptOpened(leafId ?? null, prompts.madeOf);
    return { messages };
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
  const session = given.sameSession;
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
  const prompts = new Prompts(reply.session, options);
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
      const { view, messages } = await prompts.next({ session: reply.session, leafId: replyId, reminder, step });
      sent = view;
      return { messages };
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
      keepReturned(prompts.returned, step, options.tools);
      await keep(async () => reply.add(await stepParts(step, options.tools)));
      prompts.made(withOwnIds(step.content));
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

/** Checks the limits before the turn, because nothing is refused in the middle of one. */
function checkLimits({ maxTokens, truncate }: GetViewOptions): void {
  checkViewOptions({ truncate, maxTokens: maxTokens === Infinity ? undefined : maxTokens });
}
