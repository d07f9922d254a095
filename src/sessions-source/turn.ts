/**
 * A model's turn in an agent whose base class stores the model's output. It returns values to spread into `streamText`.
 *
 * Before each step it makes the prompt of the current view and of the turn's own messages so far. It stores no message. The base class does,
 * at times of its own choice. So the turn keeps its last stored message in its initial form, because later additions of the base class are
 * already in the turn's own messages. These have their room behind the view, so that no step is larger than its limit (fit/fit-steps.ts).
 */
import type { ModelMessage, StepResult, ToolSet, UIMessage } from "ai";
import { errorCode } from "../errors.ts";
import { sliceMessage } from "../steps/message/message.ts";
import { parseSyntheticId } from "../steps/view/view.ts";
import type { Session } from "../agent/sessions/session.ts";
import type { Around } from "../steps/view/thoughts.ts";
import type { StepBegun } from "../turn/call-results.ts";
import { Prompts, type Prompt, type ViewOptions } from "../turn/prompts.ts";
import { usageOf } from "../turn/turn.ts";

export type CompactedOptions = Omit<ViewOptions, "leafId" | "asOf">;

/** Values to spread into `streamText` or `generateText`. */
export interface CompactedTurn {
  /** The current view. */
  readonly messages: ModelMessage[];
  /** The current view at each step, followed by the turn's own messages. */
  prepareStep(step: StepBegun): Promise<{ messages?: ModelMessage[] }>;
  /** Records the provider's count. */
  onStepEnd(step: StepResult<ToolSet>): Promise<void>;
  /** The same, under the name that version 6 of the AI SDK calls. Later versions call the other alone. */
  onStepFinish(step: StepResult<ToolSet>): Promise<void>;
}

/** The host's settings of a turn. */
export interface HostTurn {
  /** The message that the turn answers, which is the newest one by default. */
  readonly leafId?: string | undefined;
  /** The messages that the base class would send. They are sent, with a warning on the console, where no view is available. */
  readonly fallback: () => ModelMessage[] | Promise<ModelMessage[]>;
  /** How the host shortens older messages by itself. */
  readonly truncate?: ViewOptions["truncate"];
  /** What a host's first prompt has beside its messages, where no step tells it. */
  readonly around?: Around;
  /** Adds the host's own messages to the view's. */
  readonly finish?: (messages: ModelMessage[]) => ModelMessage[];
}

export async function compactedTurn(
  session: Session,
  options: CompactedOptions,
  host: HostTurn,
): Promise<CompactedTurn> {
  try {
    const { leafId, truncate } = host;
    const leaf = leafId === undefined ? await session.getLatestLeaf() : await session.getMessage(leafId);
    const as = (message: UIMessage): UIMessage => asItWas(leaf, message);
    const prompts = new Prompts(session, { ...options, truncate: options.truncate ?? truncate }, { ...host, as });
    const next = async (step?: StepBegun): Promise<Prompt> =>
      prompts.next({ session, leafId: leaf?.id, reminder: await session.reminderOfRooms(), step, around: host.around });
    const first = await next();
    let sent = first.view;
    const onStepEnd = async (step: StepResult<ToolSet>): Promise<void> => {
      prompts.made(step.content);
      const report = { ...usageOf(step), leafId: leaf?.id, viewTokens: sent.tokens };
      // A failure to record usage must not lose the call's answer.
      await session.recordUsage(report).catch(() => undefined);
    };
    return {
      messages: first.messages,
      prepareStep: async (step) => {
        try {
          const { view, messages } = await next({ ...step, responseMessages: broughtBy(step, first.messages) });
          sent = view;
          return { messages };
        } catch (error) {
          // The conversation was cleared, or its end was removed. The turn goes on with the messages that it has.
          if (errorCode(error) !== "unknown_leaf") warn(session, error);
          return {};
        }
      },
      onStepEnd,
      onStepFinish: onStepEnd,
    };
  } catch (error) {
    warn(session, error);
    return {
      messages: await host.fallback(),
      prepareStep: async () => ({}),
      onStepEnd: async () => undefined,
      onStepFinish: async () => undefined,
    };
  }
}

/**
 * The turn's own messages so far. Version 6 of the AI SDK does not provide them. There they are the messages behind the initial ones, or,
 * where a caller replaced those, the last step's record of all steps.
 */
function broughtBy(step: StepBegun, begun: readonly ModelMessage[]): readonly ModelMessage[] {
  const { responseMessages, messages = [], steps = [] } = step;
  if (responseMessages !== undefined) return responseMessages;
  if (begun.every((message, index) => messages[index] === message)) return messages.slice(begun.length);
  return steps.at(-1)?.response.messages ?? [];
}

/** The last message of the view with the parts that it had at the start of the turn. */
function asItWas(leaf: UIMessage | null, message: UIMessage): UIMessage {
  if (leaf?.role !== "assistant") return message;
  const shown = parseSyntheticId(message.id);
  const isSlice = shown?.kind === "slice" && shown.messageId === leaf.id;
  if (message.id !== leaf.id && !isSlice) return message;
  return isSlice ? sliceMessage(leaf, shown.fromStep, shown.toStep) : leaf;
}

export function warn(session: Session, error: unknown): void {
  const why = error instanceof Error ? error.message : String(error);
  console.warn(`[palimpsest] A turn of session "${session.id}" goes on without compaction: ${why}`);
}
