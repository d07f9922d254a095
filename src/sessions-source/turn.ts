/**
 * A model's turn in an agent whose base class stores the model's output. It returns values to spread into `streamText`.
 *
 * Before each step it makes the prompt of the current view and of the turn's own messages so far. It stores no message. The base class does,
 * at times of its own choice. So the turn keeps its last stored message in its initial form, because later additions of the base class are
 * already in the turn's own messages. These have their room behind the view, so that no step is larger than its limit (fit/fit-steps.ts).
 */
import type { ModelMessage, StepResult, ToolSet, UIMessage } from "ai";
import { fitSteps } from "../fit/fit-steps.ts";
import { MIN_VIEW_TOKENS } from "../limits.ts";
import { errorCode } from "../errors.ts";
import { measureMessage, sliceMessage } from "../steps/message/message.ts";
import { isSummaryRecord, parseSyntheticId } from "../steps/view/view.ts";
import type { Session } from "../agent/sessions/session.ts";
import type { StepBegun } from "../turn/call-results.ts";
import { Reminders, withReminder } from "../turn/reminders.ts";
import { Thoughts } from "../turn/thoughts.ts";
import { nextPrompt, remindersTokens, usageOf, type Prompt, type ViewOptions } from "../turn/turn.ts";

export type CompactedOptions = Omit<ViewOptions, "leafId" | "asOf">;

/** Values to spread into `streamText` or `generateText`. */
export interface CompactedTurn {
  /** The current view. */
  readonly messages: ModelMessage[];
  /** The current view at each step, followed by the turn's own messages. */
  prepareStep(step: StepBegun): Promise<{ messages?: ModelMessage[] }>;
  /** Records the provider's count. */
  onStepEnd(step: StepResult<ToolSet>): Promise<void>;
}

/** The host's settings of a turn. */
export interface HostTurn {
  /** The message that the turn answers, which is the newest one by default. */
  readonly leafId?: string | undefined;
  /** The messages that the base class would send. They are sent, with a warning on the console, where no view is available. */
  readonly fallback: () => ModelMessage[] | Promise<ModelMessage[]>;
  /** How the host shortens older messages by itself. */
  readonly truncate?: ViewOptions["truncate"];
  /** Converts a message to the form in which the host shows it to a model. */
  readonly show?: (message: UIMessage) => UIMessage;
  /** Adds the host's own messages to the view's. */
  readonly finish?: (messages: ModelMessage[]) => ModelMessage[];
}

/** The start of a turn. */
interface Begun {
  readonly session: Session;
  readonly leaf: UIMessage | null;
  readonly options: CompactedOptions;
  readonly host: HostTurn;
  /** Tokens of the view, and of the user's last message in it. */
  sizes: { readonly view: number; readonly request: number };
  readonly reminders: Reminders;
  readonly thoughts: Thoughts;
}

export async function compactedTurn(
  session: Session,
  options: CompactedOptions,
  host: HostTurn,
): Promise<CompactedTurn> {
  let sent: Prompt["view"] | null = null;
  const plain = async (): Promise<CompactedTurn> => ({
    messages: await host.fallback(),
    prepareStep: async () => ({}),
    onStepEnd: async () => undefined,
  });
  try {
    const { leafId } = host;
    const leaf = leafId === undefined ? await session.getLatestLeaf() : await session.getMessage(leafId);
    const begun: Begun = {
      session,
      leaf,
      options,
      host,
      sizes: { view: 0, request: 0 },
      reminders: new Reminders(),
      thoughts: new Thoughts(session.thoughtNotes),
    };
    const first = await prompt(begun);
    begun.sizes = { view: first.view.tokens, request: requestTokens(session, first.view.messages) };
    sent = first.view;
    return {
      messages: first.messages,
      prepareStep: async (step) => {
        try {
          const next = await prompt(begun, { ...step, responseMessages: broughtBy(step, first.messages) });
          sent = next.view;
          return { messages: next.messages };
        } catch (error) {
          // The conversation was cleared, or its end was removed. The turn goes on with the messages that it has.
          if (errorCode(error) !== "unknown_leaf") warn(session, error);
          return {};
        }
      },
      onStepEnd: async (step) => {
        const report = { ...usageOf(step), leafId: begun.leaf?.id, viewTokens: sent?.tokens };
        begun.thoughts.made(step.content);
        // A failure to record usage must not lose the call's answer.
        await session.recordUsage(report).catch(() => undefined);
      },
    };
  } catch (error) {
    warn(session, error);
    return plain();
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

async function prompt(begun: Begun, step?: StepBegun): Promise<Prompt> {
  const { session, leaf, options, host, sizes, reminders, thoughts } = begun;
  const { finish = (messages) => messages } = host;
  const brought = step?.responseMessages ?? [];
  // Results of calls that a person approved stand in the view, with their calls.
  const begins = brought.findIndex(({ role }) => role !== "tool");
  const own = begins === -1 ? [] : brought.slice(begins);
  const maxTokens = options.maxTokens ?? session.turnTokens ?? Infinity;
  const reminder = await session.reminderOfRooms();
  const beside = remindersTokens(session, reminders.texts(reminder));
  const room = Math.max(MIN_VIEW_TOKENS, maxTokens - session.unseenTokens - beside);
  const steps = fitSteps(own, { room, ...sizes, countTokens: session.countTokens });
  const { view, messages, isActedOn } = await nextPrompt(session, {
    ...options,
    truncate: options.truncate ?? host.truncate,
    leafId: leaf?.id,
    maxTokens: maxTokens === Infinity ? Infinity : Math.max(MIN_VIEW_TOKENS, maxTokens - steps.reserved - beside),
    reminder: null,
    step,
    as: (message) => asItWas(leaf, message),
    replace: host.show,
  });
  const before = steps.note === null ? finish(messages) : withReminder(finish(messages), steps.note);
  const whole = [...before, ...steps.messages];
  const around = { instructions: step?.instructions, tools: options.tools };
  return {
    view: { ...view, tokens: view.tokens + steps.tokens },
    messages: isActedOn ? whole : thoughts.bound(reminders.put(whole, reminder), around),
    isActedOn,
  };
}

/** Tokens of the user's last message, which is what the turn answers. */
function requestTokens(session: Session, messages: readonly UIMessage[]): number {
  const asked = messages.findLast(
    (message) => message.role === "user" && parseSyntheticId(message.id) === null && !isSummaryRecord(message),
  );
  return asked === undefined ? 0 : measureMessage(asked, session.countTokens).tokens;
}

/** The last message of the view with the parts that it had at the start of the turn. */
function asItWas(leaf: UIMessage | null, message: UIMessage): UIMessage {
  if (leaf?.role !== "assistant") return message;
  const shown = parseSyntheticId(message.id);
  const isSlice = shown?.kind === "slice" && shown.messageId === leaf.id;
  if (message.id !== leaf.id && !isSlice) return message;
  return isSlice ? sliceMessage(leaf, shown.fromStep, shown.toStep) : leaf;
}

function warn(session: Session, error: unknown): void {
  const why = error instanceof Error ? error.message : String(error);
  console.warn(`[palimpsest] A turn of session "${session.id}" goes on without compaction: ${why}`);
}
