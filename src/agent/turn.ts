/**
 * A turn of a model that lives in a session while it runs: for the tool loops of the AI SDK (`streamText`,
 * `generateText`, agents).
 *
 * Job: before each model step ask the session for its view, after each step store what the model did and tell what the
 * provider counted. Boundary: the caller calls the model, and decides on tools, retries and the end of the turn.
 *
 * Why it is safe: the SDK awaits `onStepEnd` before it prepares the next step, so the view that a step gets holds all
 * steps before it, each stored whole. A crash loses the step under way and nothing else. Steps are only ever added to
 * the reply, so the prompt of a step begins with that of the step before, byte for byte, unless an overlay came between.
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
import type { View } from "../memory/view.ts";
import type { Session } from "./session.ts";

export interface ViewOptions {
  /** The branch; the active one by default. */
  readonly leafId?: string | undefined;
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
 */
export function viewBeforeStep(session: Session, options: ViewOptions = {}): KeptTurn["prepareStep"] {
  return async () => ({ messages: await toModel(session, await session.getView(options.leafId), options) });
}

/** Stores a turn step by step in the reply `replyId`, and sends each step the view up to it. */
export function keepTurn(session: Session, { replyId, tools }: TurnOptions): KeptTurn {
  let sent: View | null = null;
  return {
    prepareStep: async () => {
      sent = await session.getView(replyId);
      return { messages: await toModel(session, sent, { tools }) };
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

/** The view's messages, and at their end what changed in the context blocks since the system prompt was frozen. */
async function toModel(session: Session, view: View, { tools }: ViewOptions): Promise<ModelMessage[]> {
  const messages = await convertToModelMessages(view.messages, tools === undefined ? {} : { tools });
  const reminder = await session.reminder();
  return reminder === null ? messages : [...messages, { role: "user", content: reminder }];
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
