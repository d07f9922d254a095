/**
 * A turn in progress, with the model's input and the new messages so far.
 *
 * It keeps a turn's new messages apart from the stored ones until the turn is complete. It is pure. Events come from log.ts, which also
 * stores the turn.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { checkShape } from "../memory/messages/content.ts";
import { repairMessages } from "../steps/view/repair.ts";
import { type ConversationEvent, eventsToMessages } from "./event.ts";

/** A message in the simplest form. A string becomes one text part, and a missing id is created. */
export interface ContextMessage {
  /** Its id. */
  readonly id?: string;
  /** Its role. */
  readonly role: UIMessage["role"];
  /** Its text, or its parts. */
  readonly content: string | UIMessage["parts"];
}

/** What a working context shows of the events. */
export interface WorkingContextOptions {
  /** System text that stands before the conversation. Never stored. */
  readonly system?: string;
  /**
   * Your own reading of the events, each as a message, or as null for none. Default: the stored messages. The context still pairs every
   * call with its result.
   */
  readonly eventToMessage?: (event: ConversationEvent) => UIMessage | ContextMessage | null;
}

/** The messages of one turn in memory: those that were stored, and those that the turn adds. */
export class WorkingContext {
  /** The newest stored message that the context was built from, or null without one. */
  readonly leafId: string | null;
  readonly #options: WorkingContextOptions;
  readonly #loaded: readonly UIMessage[];
  readonly #added: UIMessage[] = [];

  constructor(events: readonly ConversationEvent[], options: WorkingContextOptions) {
    const last = events.at(-1);
    this.leafId = last === undefined ? null : last.action === "compaction" ? last.toMessageId : last.messageId;
    this.#options = options;
    const read = options.eventToMessage;
    this.#loaded = read === undefined ? eventsToMessages(events) : events.flatMap((event) => mapped(event, read));
  }

  /** The system text, or null without one. */
  get systemInstructions(): string | null {
    return this.#options.system ?? null;
  }

  /** All messages for a model without the system text, with every tool call paired with one result (V2). */
  get messages(): UIMessage[] {
    return repairMessages([...this.#loaded, ...this.#added]);
  }

  /** Throws `invalid_message` for a malformed message, and `invalid_input` for an id that the context already has. */
  addMessage(given: UIMessage | ContextMessage): this {
    const message = whole(given);
    checkShape(message);
    if ([...this.#loaded, ...this.#added].some(({ id }) => id === message.id)) {
      throw new PalimpsestError(
        "invalid_input",
        `There is a message "${message.id}" in this context. Give each an id of its own.`,
      );
    }
    this.#added.push(message);
    return this;
  }

  /** Returns the added messages unchanged and in order. */
  getNewMessages(): UIMessage[] {
    return [...this.#added];
  }

  /** Returns {@link messages}, behind the system text where there is one. */
  getMessages(): UIMessage[] {
    const { system } = this.#options;
    const { messages } = this;
    if (system === undefined) return messages;
    return [{ id: "system", role: "system", parts: [{ type: "text", text: system }] }, ...messages];
  }
}

function mapped(event: ConversationEvent, read: NonNullable<WorkingContextOptions["eventToMessage"]>): UIMessage[] {
  const said = read(event);
  if (said === null) return [];
  const message = whole(said, event.id);
  checkShape(message);
  return [message];
}

/** Anything else is left as it is, for {@link checkShape} to refuse. */
function whole(given: UIMessage | ContextMessage, id?: string): UIMessage {
  if (typeof given !== "object" || given === null || !("content" in given) || "parts" in given)
    return given as UIMessage;
  const { content, ...rest } = given;
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return { ...rest, id: given.id ?? id ?? crypto.randomUUID(), parts };
}

/** Builds a context over events, oldest first, as `loadEvents` returns them. Throws `invalid_options`. */
export function buildWorkingContext(
  events: readonly ConversationEvent[],
  options: WorkingContextOptions = {},
): WorkingContext {
  checkFields("buildWorkingContext", options, { system: true, eventToMessage: true });
  if (options.eventToMessage !== undefined && typeof options.eventToMessage !== "function") {
    throw new PalimpsestError("invalid_options", "eventToMessage is a function that returns a message, or null.");
  }
  return new WorkingContext(events, options);
}
