/**
 * The prompts of one turn, one for each step: the view, and behind it the turn's own steps.
 *
 * The user's request and the newest steps have their room first, so that no prompt is larger than its limit, however many steps a turn has. The
 * view before them is made to fit in what is left (fit/fit-view.ts), and the older steps are cut in jumps (fit/fit-steps.ts). So the prompt of a
 * step begins with the previous one, byte for byte, but for one step in each jump, or where an overlay came between.
 *
 * Knows nothing of how a turn is stored, and calls no model.
 */
import { convertToModelMessages, type ModelMessage, type StepResult, type ToolSet, type UIMessage } from "ai";
import { MESSAGE_OVERHEAD_TOKENS, MIN_VIEW_TOKENS } from "../limits.ts";
import { fitSteps, type FittedSteps } from "../fit/fit-steps.ts";
import { withinBytes } from "../fit/within-bytes.ts";
import {
  type CountTokens,
  measureMessage,
  type Part,
  toolName,
  type ToolPart,
  toolPart,
} from "../steps/message/message.ts";
import { repairMessages } from "../steps/view/repair.ts";
import type { Around, Said } from "../steps/view/thoughts.ts";
import { inTurns } from "../steps/view/turns.ts";
import { isSummaryRecord, parseSyntheticId } from "../steps/view/view.ts";
import type { Session } from "../agent/sessions/session.ts";
import type { Fitted, GetViewOptions, ShownView } from "../agent/sessions/shown-view.ts";
import { asTaken } from "./brought.ts";
import { answerCalls, firstResults, type StepBegun } from "./call-results.ts";
import { saidOfData, type ConvertDataPart } from "./data-parts.ts";
import { joined } from "./joined.ts";
import { showingBytes } from "./model-output.ts";
import { OwnSteps } from "./own-steps.ts";
import { forModel, goingOn, named, type NamedModel } from "./readable.ts";
import { Reminders, withReminder } from "./reminders.ts";
import { knowingReturned, type Returned } from "./returned.ts";
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
  /** What a model is sent of a part of type `data-…`, as `convertToModelMessages` takes it. Nothing by default. */
  readonly convertDataPart?: ConvertDataPart | undefined;
  /** For tools that define what a model sees of their output (`toModelOutput`). */
  readonly tools?: ToolSet | undefined;
}

/** A prompt for one step of a turn. */
export interface Prompt {
  /** The view that it was made from, with the tokens of the turn's own steps. */
  readonly view: ShownView;
  readonly messages: ModelMessage[];
}

/** A base class that keeps the turn's messages until the turn is over. */
export interface HostsTurn {
  /** Replaces a message of the view by its form of when the turn began. */
  readonly as: (message: UIMessage) => UIMessage;
  /** Adds the host's own messages to the view's. */
  readonly finish?: ((messages: ModelMessage[]) => ModelMessage[]) | undefined;
}

export interface AskedPrompt {
  /** It may continue another session after a split. */
  readonly session: Session;
  readonly leafId?: string | undefined;
  /** The end of the prompt, which is not stored. Null for none. */
  readonly reminder: string | null;
  /** The argument of `prepareStep`. Undefined for the prompt that the SDK begins with. */
  readonly step: StepBegun | undefined;
  /** What the prompt has beside its messages, where the step does not tell it. */
  readonly around?: Around | undefined;
}

interface DividedView {
  readonly before: UIMessage[];
  readonly own: readonly ModelMessage[];
  /** Tokens of the own steps as a view counts them, with which the provider's count is compared. Null where they are in no view. */
  readonly measured: ((count: CountTokens) => number) | null;
}

type Sizes = Pick<Parameters<typeof fitSteps>[1], "view" | "request">;

export class Prompts {
  readonly #options: ViewOptions;
  readonly #host: HostsTurn | null;
  readonly #own = new OwnSteps();
  readonly #reminders = new Reminders();
  readonly #thoughts: Thoughts;
  /** Of the turn's tools with a `toModelOutput`. */
  readonly returned: Returned = new Map();
  /** Of the first prompt. */
  #sizes: Sizes | null = null;
  #room = 0;
  /** The step's model. Null until a step names it. */
  #model: NamedModel | null = null;

  constructor(session: Session, options: ViewOptions, host: HostsTurn | null = null) {
    this.#options = options;
    this.#host = host;
    this.#thoughts = new Thoughts(session.thoughtNotes);
  }

  async next(asked: AskedPrompt): Promise<Prompt> {
    const { session, leafId, step, reminder } = asked;
    const { truncate, asOf, maxTokens = session.turnTokens ?? Infinity } = this.#options;
    const beside = remindersTokens(session, this.#reminders.texts(reminder));
    this.#model = named(step?.model) ?? this.#model;
    const limit = withoutReminder(maxTokens, beside);
    const room = this.#steady(limit === undefined ? Infinity : session.messageRoom(limit));
    let [steps, ownTokens] = [NO_STEPS, 0];
    const view = await session.viewWith(
      { leafId, asOf: leafId === undefined ? asOf : undefined, truncate, maxTokens: limit },
      {
        as: (message) => saidOfData(this.#host?.as(message) ?? message, this.#options.convertDataPart),
        arrange: async (messages) => {
          const { countTokens } = session;
          const { before, own, measured } = await this.#divide(messages, step);
          steps = fitSteps(own, { room, countTokens, ...(this.#sizes ?? { view: 0, request: 0 }) });
          ownTokens = measured === null ? steps.tokens : Math.max(0, measured(countTokens) - saved(steps));
          return { messages: before, tokens: steps.tokens, reserved: steps.reserved };
        },
      },
    );
    this.#sizes ??= { view: view.tokens, request: requestTokens(session, view.messages) };
    const fitted = fittedWith(view.fitted, steps);
    if (fitted?.kind === "reduced") this.#options.onReduced?.(fitted);
    const { messages, isActedOn } = await this.#shown(view.messages, step);
    const noted = steps.note === null ? messages : withReminder(messages, steps.note);
    const whole = withinBytes(
      joined([
        ...noted,
        ...(this.#model === null ? [] : goingOn(noted, this.#model)),
        ...(this.#host === null ? steps.messages : asTaken(steps.messages, noted, this.#options.tools)),
      ]),
    );
    return {
      view: { ...view, tokens: view.tokens + ownTokens, ...(fitted !== undefined && { fitted }) },
      // The SDK acts on a person's answer to a call before the first step, and only where the answer stands last in its initial messages.
      messages: isActedOn ? whole : await this.#bound(whole, asked),
    };
  }

  async #bound(whole: ModelMessage[], { step, reminder, around = {} }: AskedPrompt): Promise<ModelMessage[]> {
    const { instructions = around.instructions, model = this.#model } = step ?? {};
    const tools = around.tools ?? this.#options.tools;
    const reminded = this.#reminders.put(whole, reminder);
    const by = named(model);
    return this.#thoughts.bound(await forModel(reminded, model, tools), {
      instructions,
      tools,
      model: by === null ? undefined : `${by.provider} ${by.modelId}`,
    });
  }

  /** A provider's count of each step changes the room a little. What is cut must not change with it. */
  #steady(room: number): number {
    if (room < this.#room) this.#room = Math.max(MIN_VIEW_TOKENS, Math.floor(room * LESS_ROOM));
    else if (room > this.#room * MORE_ROOM) this.#room = room;
    return this.#room;
  }

  /** What the thoughts of a stored reply to the last prompt were made on. */
  readonly madeOf = (reply: readonly Said[]): ReadonlyMap<string, string> => this.#thoughts.madeOf(reply);

  /** Notes what the thoughts of the step behind the last prompt were made on. */
  made(content: StepResult<ToolSet>["content"] | undefined): void {
    this.#thoughts.made(content);
  }

  /** The messages of a view before the turn's own steps, and these as the model is sent them. */
  async #divide(messages: UIMessage[], step: StepBegun | undefined): Promise<DividedView> {
    if (this.#host !== null) {
      // Results of calls that a person approved stand in the view, with their calls.
      const brought = step?.responseMessages ?? [];
      const begins = brought.findIndex(({ role }) => role !== "tool");
      return { before: messages, own: begins === -1 ? [] : brought.slice(begins), measured: null };
    }
    const { before, own } = this.#own.divide(messages);
    const shown = inTurns(own, { tools: this.#options.tools, continues: true });
    const measured = (count: CountTokens): number =>
      own.reduce((sum, message) => sum + measureMessage(message, count).tokens, 0);
    return { before, own: own.length === 0 ? [] : await this.#converted(shown), measured };
  }

  async #shown(
    view: readonly UIMessage[],
    step: StepBegun | undefined,
  ): Promise<{ messages: ModelMessage[]; isActedOn: boolean }> {
    const { tools } = this.#options;
    const { finish = (messages: ModelMessage[]) => messages } = this.#host ?? {};
    // Results of calls that are open in the view, or that the view closed without a result.
    const results = firstResults(step);
    const answered =
      results.size === 0
        ? [...view]
        : view.map((each) => ({ ...each, parts: answerCalls(each.parts, (call) => results.get(call.toolCallId)) }));
    // The model is asked now. So a call with an `execute` of the server's own that a crash cut off will not run any more.
    const canBeAnswered = (call: ToolPart): boolean =>
      call.state !== "input-available" || tools?.[toolName(call)]?.execute === undefined;
    const shown = inTurns(repairMessages(answered, { canBeAnswered }), { tools });
    return {
      messages: finish(await this.#converted(shown)),
      isActedOn: step === undefined && shown.at(-1)?.parts.some(isAnsweredApproval) === true,
    };
  }

  async #converted(shown: UIMessage[]): Promise<ModelMessage[]> {
    const showing = showingBytes(this.#options.tools, shown);
    return convertToModelMessages(
      shown,
      showing === undefined ? {} : { tools: knowingReturned(showing, this.returned) },
    );
  }
}

/** Shares of the room at which another one is used: a smaller one with some reserve, a larger one where it is much larger. */
const LESS_ROOM = 0.9;
const MORE_ROOM = 1.3;

const NO_STEPS: FittedSteps = { messages: [], tokens: 0, reserved: 0, note: null, reductions: [] };

/** How the view and the turn's own steps were made to fit together. */
function fittedWith(fitted: Fitted | undefined, steps: FittedSteps): Fitted | undefined {
  if (fitted === undefined || steps.reductions.length === 0) return fitted;
  const { promptTokens } = fitted;
  const before = fitted.kind === "reduced" ? fitted : { steps: [], originalTokens: promptTokens };
  const originalTokens = before.originalTokens + saved(steps);
  return { kind: "reduced", promptTokens, originalTokens, steps: [...before.steps, ...steps.reductions] };
}

function saved({ reductions }: FittedSteps): number {
  return reductions.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** Tokens of the user's last message, which is what the turn answers. */
function requestTokens(session: Session, messages: readonly UIMessage[]): number {
  const asked = messages.findLast(
    (message) => message.role === "user" && parseSyntheticId(message.id) === null && !isSummaryRecord(message),
  );
  return asked === undefined ? 0 : measureMessage(asked, session.countTokens).tokens;
}

function isAnsweredApproval(part: Part): boolean {
  return toolPart(part)?.state === "approval-responded";
}

function remindersTokens(session: Session, texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + session.countTokens(text) + MESSAGE_OVERHEAD_TOKENS, 0);
}

/** The limit without the reminder's tokens. It is at least the least view, so that no step fails in the middle of a turn. */
function withoutReminder(maxTokens: number, reminderTokens: number): number | undefined {
  if (maxTokens === Infinity) return undefined;
  return reminderTokens === 0 ? maxTokens : Math.max(MIN_VIEW_TOKENS, maxTokens - reminderTokens);
}
