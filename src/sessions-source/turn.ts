/**
 * A model's turn in an agent whose base class stores what the model says: what to spread into `streamText`.
 *
 * Job: before each step make the prompt of the view as it is now and of what the turn has brought so far. Boundary: stores
 * nothing; the base class does, when it likes. So the turn holds on to its last stored message as it was at the beginning:
 * what the base class adds to it meanwhile is in the turn's own messages already.
 */
import type { ModelMessage, StepResult, ToolSet, UIMessage } from "ai";
import { MIN_VIEW_TOKENS } from "../limits.ts";
import { errorCode } from "../errors.ts";
import { sliceMessage } from "../steps/message/slice.ts";
import { parseSyntheticId } from "../steps/view/view.ts";
import type { Session } from "../agent/session.ts";
import type { StepBegun } from "../agent/views/call-results.ts";
import { nextPrompt, usageOf, type Prompt, type ViewOptions } from "../agent/views/turn.ts";

export type CompactedOptions = Omit<ViewOptions, "leafId" | "asOf">;

/** To be spread into `streamText` or `generateText`. */
export interface CompactedTurn {
  /** The view as it is now. */
  readonly messages: ModelMessage[];
  /** The view as it is at each step, behind it what the turn has brought. */
  prepareStep(step: StepBegun): Promise<{ messages?: ModelMessage[] }>;
  /** Tells what the provider counted. */
  onStepEnd(step: StepResult<ToolSet>): Promise<void>;
}

/** What the host has to say of a turn of its own. */
export interface HostTurn {
  /** The message that the turn answers; the newest one where it is left out. */
  readonly leafId?: string | undefined;
  /** What the base class would send. It is sent, with a word on the console, where no view can be had. */
  readonly fallback: () => ModelMessage[] | Promise<ModelMessage[]>;
  /** A message as the host shows it to a model. */
  readonly show?: (message: UIMessage) => UIMessage;
  /** What the host puts to the view's messages. */
  readonly finish?: (messages: ModelMessage[]) => ModelMessage[];
}

/** What of a session a turn begins with. */
interface Begun {
  readonly session: Session;
  readonly leaf: UIMessage | null;
  readonly options: CompactedOptions;
  readonly host: HostTurn;
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
    const begun: Begun = { session, leaf, options, host };
    const first = await prompt(begun);
    sent = first.view;
    return {
      messages: first.messages,
      prepareStep: async (step) => {
        try {
          const next = await prompt(begun, { responseMessages: broughtBy(step, first.messages) });
          sent = next.view;
          return { messages: next.messages };
        } catch (error) {
          // The conversation was cleared, or its end taken away: the turn goes on with what it has.
          if (errorCode(error) !== "unknown_leaf") warn(session, error);
          return {};
        }
      },
      onStepEnd: async (step) => {
        const report = { ...usageOf(step), leafId: begun.leaf?.id, viewTokens: sent?.tokens };
        // What a provider says of a call is not worth losing its answer for.
        await session.recordUsage(report).catch(() => undefined);
      },
    };
  } catch (error) {
    warn(session, error);
    return plain();
  }
}

/**
 * What the turn has brought so far. Version 6 of the AI SDK does not say it: there it is what stands behind the messages that the turn
 * began with, or, where a caller put others in their place, what the last step tells of all steps.
 */
function broughtBy(step: StepBegun, begun: readonly ModelMessage[]): readonly ModelMessage[] {
  const { responseMessages, messages = [], steps = [] } = step;
  if (responseMessages !== undefined) return responseMessages;
  if (begun.every((message, index) => messages[index] === message)) return messages.slice(begun.length);
  return steps.at(-1)?.response.messages ?? [];
}

async function prompt({ session, leaf, options, host }: Begun, step?: StepBegun): Promise<Prompt> {
  const { show = (message) => message, finish = (messages) => messages } = host;
  const brought = step?.responseMessages ?? [];
  // Results of calls that a person approved stand in the view, with their calls.
  const begins = brought.findIndex(({ role }) => role !== "tool");
  const own = begins === -1 ? [] : brought.slice(begins);
  const maxTokens = options.maxTokens ?? session.turnTokens ?? Infinity;
  const taken = own.length === 0 ? 0 : session.countTokens(JSON.stringify(own));
  const reminder = await session.reminderOfRooms();
  const { view, messages } = await nextPrompt(session, {
    ...options,
    leafId: leaf?.id,
    maxTokens: maxTokens === Infinity ? Infinity : Math.max(MIN_VIEW_TOKENS, maxTokens - taken),
    reminder: own.length === 0 ? reminder : null,
    step,
    replace: (message) => show(asItWas(leaf, message)),
  });
  if (own.length === 0) return { view, messages: finish(messages) };
  const last: ModelMessage[] = reminder === null ? [] : [{ role: "user", content: reminder }];
  return { view, messages: [...finish(messages), ...own, ...last] };
}

/** The last message of the view as the turn found it. */
function asItWas(leaf: UIMessage | null, message: UIMessage): UIMessage {
  if (leaf?.role !== "assistant") return message;
  if (message.id === leaf.id) return leaf;
  const shown = parseSyntheticId(message.id);
  return shown?.kind === "slice" && shown.messageId === leaf.id
    ? sliceMessage(leaf, shown.fromStep, shown.toStep)
    : message;
}

function warn(session: Session, error: unknown): void {
  const why = error instanceof Error ? error.message : String(error);
  console.warn(`[palimpsest] A turn of session "${session.id}" goes on without compaction: ${why}`);
}
