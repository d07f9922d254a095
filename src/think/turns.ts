/**
 * Turns of Think on our view, through its hooks `beforeTurn` and `beforeStep`.
 *
 * Sends the view at the start of a turn and at each step of its tool loop. The results of an author's own hooks come first. A turn whose
 * messages were replaced elsewhere is left alone.
 *
 * Think gives `beforeTurn` its whole history, with the reminder of its context blocks at the end, and uses the returned messages unchanged.
 * Reading `model` of that context resolves it. Think's own guard against an overflow puts the whole history into a step again. A request
 * that ends with a cut-off answer gets one message more.
 */
import type { PrepareStepContext, Think, TurnContext } from "@cloudflare/think";
import type { ModelMessage } from "ai";
import type { Session } from "../agent/sessions/session.ts";
import { compactedTurn, type CompactedTurn, type HostTurn } from "../sessions-source/turn.ts";
import type { ConvertDataPart } from "../turn/data-parts.ts";
import { keepLostFilesAway, leafOfTurn } from "./internals.ts";

/** A started turn. Think has one at a time. */
interface Turn {
  readonly compacted: CompactedTurn;
  /** The messages that Think added behind the view's. Null until it asks for the first step. */
  behind: readonly ModelMessage[] | null;
}

export interface TurnHooks {
  readonly session: () => Session;
  /** The changes of Think's context blocks since its prompt was frozen. */
  readonly reminder: () => Promise<string | null>;
  readonly convertDataPart: ConvertDataPart | undefined;
}

/** Wraps the hooks of this agent, as its class and its fields define them. */
export function hookTurns(agent: Think, hooks: TurnHooks): void {
  const beforeTurn = agent.beforeTurn.bind(agent);
  const beforeStep = agent.beforeStep.bind(agent);
  const onStepEnd = agent.onStepEnd.bind(agent);
  let turn: Turn | null = null;
  keepLostFilesAway(agent);

  agent.beforeTurn = async (context) => {
    const begun = await beginTurn(agent, hooks, context);
    const { messages } = begun.compacted;
    const config = await beforeTurn(withMessages(context, messages));
    turn = config?.messages === undefined ? begun : null;
    return turn === null ? config : { ...config, messages };
  };

  agent.beforeStep = async (step) => {
    if (turn !== null && !isOurs(turn, step)) turn = null;
    const messages = turn === null ? undefined : await messagesOfStep(turn, step);
    if (messages === undefined) return beforeStep(step);
    return { messages, ...(await beforeStep({ ...step, messages })) };
  };

  agent.onStepEnd = async (step) => {
    await turn?.compacted.onStepEnd(step);
    await onStepEnd(step);
  };
}

async function beginTurn(agent: Think, hooks: TurnHooks, context: TurnContext): Promise<Turn> {
  const { session, reminder, convertDataPart } = hooks;
  const { tools, messages: whole, system } = context;
  const text = await reminder();
  const step = agent.truncationStep;
  const truncate = Number.isSafeInteger(step) && step > 0 ? { step } : step !== Number.POSITIVE_INFINITY;
  const host: HostTurn = {
    leafId: leafOfTurn(agent),
    fallback: () => whole,
    around: { instructions: system },
    truncate,
    finish: (messages) => [...withReminder(messages, text, whole.at(-1)), ...(turn.behind ?? [])],
  };
  const turn: Omit<Turn, "compacted"> & { compacted: CompactedTurn | null } = { compacted: null, behind: null };
  turn.compacted = await compactedTurn(session(), { tools, convertDataPart }, host);
  return turn as Turn;
}

/** Whether the turn's messages are the ones that we gave. An extension of Think may have replaced them. */
function isOurs({ compacted, behind }: Turn, { messages }: PrepareStepContext): boolean {
  return behind !== null || compacted.messages.every((message, index) => messages[index] === message);
}

/** The messages of a step. Undefined where they are the ones that Think has. */
async function messagesOfStep(
  turn: Turn,
  { messages, responseMessages, instructions, model }: PrepareStepContext,
): Promise<ModelMessage[] | undefined> {
  const begun = turn.compacted.messages.length;
  if (turn.behind === null) {
    turn.behind = messages.slice(begun);
    // Only the step tells its model, which may not take what another one made. The author's hook may have changed the system prompt.
    return (await turn.compacted.prepareStep({ instructions, model, responseMessages: [] })).messages;
  }
  // Version 6 of the AI SDK does not provide the turn's own messages.
  const brought: readonly ModelMessage[] | undefined = responseMessages;
  const step = { instructions, model, responseMessages: brought ?? messages.slice(begun + turn.behind.length) };
  return (await turn.compacted.prepareStep(step)).messages;
}

function withMessages(context: TurnContext, messages: ModelMessage[]): TurnContext {
  // Copies descriptors, not values, because reading the model resolves it.
  const descriptors = Object.getOwnPropertyDescriptors(context);
  return Object.defineProperties({} as TurnContext, {
    ...descriptors,
    messages: { value: messages, writable: true, enumerable: true, configurable: true },
  });
}

/**
 * Adds the reminder where Think has it. That is in the last message if it is the person's, and otherwise in a message of its own (`last`).
 */
function withReminder(messages: ModelMessage[], reminder: string | null, last?: ModelMessage): ModelMessage[] {
  const ends = messages.at(-1);
  if (reminder === null || reminder === "" || ends === undefined) return messages;
  if (ends.role !== "user") return last?.role === "user" ? [...messages, last] : messages;
  const content = typeof ends.content === "string" ? [{ type: "text", text: ends.content } as const] : ends.content;
  return [...messages.slice(0, -1), { ...ends, content: [...content, { type: "text", text: reminder }] }];
}
