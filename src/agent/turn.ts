/**
 * A turn of a model that lives in a session while it runs: for the tool loops of the AI SDK (`streamText`,
 * `generateText`, agents).
 *
 * Job: before each model step ask the session for its view, after each step store what the model did and tell what the
 * provider counted. Boundary: the caller calls the model, and decides on tools, retries and the end of the turn.
 *
 * Why it is safe: the SDK awaits `onStepEnd` before it prepares the next step, so the view that a step gets holds all
 * steps before it, each stored whole. A crash loses the step under way and nothing else. Steps are only ever added to
 * the reply, so the prompt of a step begins with that of the step before, byte for byte, unless an overlay came between
 * or the view had to be made to fit: however many steps a turn has, none is sent more than its limit.
 */
import {
  convertToModelMessages,
  readUIMessageStream,
  toUIMessageStream,
  type ModelMessage,
  type StepResult,
  type TextStreamPart,
  type ToolSet,
  type UIMessage,
} from "ai";
import { MESSAGE_OVERHEAD_TOKENS, MIN_VIEW_TOKENS } from "../limits.ts";
import { estimateTokens } from "../steps/tokens.ts";
import type { Session } from "./session.ts";
import { viewOptions, type Fitted, type GetViewOptions, type ShownView } from "./shown-view.ts";

export interface ViewOptions extends GetViewOptions {
  /**
   * Most tokens of a step's prompt, as the provider would count it: the model's window, less its answer. Default:
   * messages of twice the session's threshold, where it has one; Infinity is no limit.
   */
  readonly maxTokens?: number | undefined;
  /** Is told what was left out or shortened, each time that a step's view had to be made to fit. */
  readonly onReduced?: ((fitted: Extract<Fitted, { kind: "reduced" }>) => void) | undefined;
  /** For tools that say what a model is shown of their output (`toModelOutput`). */
  readonly tools?: ToolSet | undefined;
}

export interface TurnOptions extends Omit<ViewOptions, "leafId"> {
  /** The stored assistant message that the turn's steps are added to; it may be empty. */
  readonly replyId: string;
}

/** What to spread into `streamText` or `generateText`. */
export interface KeptTurn {
  prepareStep(): Promise<{ messages: ModelMessage[] }>;
  onStepEnd(step: StepResult<ToolSet>): Promise<void>;
}

/**
 * A `prepareStep` that sends the session's view as it is now: a summary that lands in the middle of a turn is used by
 * the next step. For callers that store the turn's steps themselves, each before the next begins; see {@link keepTurn}.
 * Throws `invalid_options`.
 */
export function viewBeforeStep(session: Session, options: ViewOptions = {}): KeptTurn["prepareStep"] {
  checkLimits(options);
  return async () => ({ messages: (await nextPrompt(session, options)).messages });
}

/** Stores a turn step by step in the reply `replyId`, and sends each step the view up to it. Throws `invalid_options`. */
export function keepTurn(session: Session, { replyId, ...options }: TurnOptions): KeptTurn {
  checkLimits(options);
  const { tools } = options;
  let sent: ShownView | null = null;
  return {
    prepareStep: async () => {
      const { view, messages } = await nextPrompt(session, { ...options, leafId: replyId });
      sent = view;
      return { messages };
    },
    onStepEnd: async (step) => {
      const { inputTokens = 0, outputTokens } = step.usage;
      const model = `${step.model.provider}:${step.model.modelId}`;
      await session.recordUsage({ inputTokens, outputTokens, model, leafId: replyId, viewTokens: sent?.tokens });
      const reply = await session.getMessage(replyId);
      const parts = [...(reply?.parts ?? []), ...(await stepParts(step, tools))];
      await session.upsertMessage({ ...reply, id: replyId, role: "assistant", parts });
    },
  };
}

interface Prompt {
  readonly view: ShownView;
  readonly messages: ModelMessage[];
}

/** The view's messages, and at their end what changed in the context blocks since the system prompt was frozen. */
async function nextPrompt(session: Session, options: ViewOptions): Promise<Prompt> {
  const { leafId, truncate, tools, onReduced, maxTokens = session.turnTokens ?? Infinity } = options;
  const reminder = await session.reminder();
  const view = await session.getView({ leafId, truncate, maxTokens: withoutReminder(maxTokens, reminder) });
  if (view.fitted?.kind === "reduced") onReduced?.(view.fitted);
  const messages = await convertToModelMessages(view.messages, tools === undefined ? {} : { tools });
  return { view, messages: reminder === null ? messages : [...messages, { role: "user", content: reminder }] };
}

/** What a reminder leaves of the limit: at least what any view needs, so that none fails in the middle of a turn. */
function withoutReminder(maxTokens: number, reminder: string | null): number | undefined {
  if (maxTokens === Infinity) return undefined;
  if (reminder === null) return maxTokens;
  return Math.max(MIN_VIEW_TOKENS, maxTokens - estimateTokens(reminder) - MESSAGE_OVERHEAD_TOKENS);
}

/** Before the turn: in the middle of one, nothing is refused. */
function checkLimits({ maxTokens, truncate }: GetViewOptions): void {
  viewOptions({ truncate, maxTokens: maxTokens === Infinity ? undefined : maxTokens });
}

/** A step as parts of a message. The SDK itself turns them into such, from a stream: so it is given the step as one. */
async function stepParts(step: StepResult<ToolSet>, tools: ToolSet | undefined): Promise<UIMessage["parts"]> {
  const parts: TextStreamPart<ToolSet>[] = [
    { type: "start-step", request: step.request, warnings: step.warnings ?? [] },
    ...step.content.flatMap((part, index) => streamed(part, `${index}`)),
  ];
  const stream = new ReadableStream<TextStreamPart<ToolSet>>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  const chunks = toUIMessageStream({ stream, sendSources: true, ...(tools === undefined ? {} : { tools }) });
  let message: UIMessage | null = null;
  for await (message of readUIMessageStream({ stream: chunks }));
  return message?.parts ?? [];
}

/** Texts are streamed piece by piece, whatever else a step holds in one. */
function streamed(part: StepResult<ToolSet>["content"][number], id: string): TextStreamPart<ToolSet>[] {
  if (part.type !== "text" && part.type !== "reasoning") return [part];
  const { type, text, providerMetadata } = part;
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, text },
    { type: `${type}-end`, id, ...metadata },
  ];
}
