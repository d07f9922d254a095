/**
 * A turn in progress, with the model's input and the new messages so far.
 *
 * It keeps a turn's new messages apart from the stored ones until the turn is complete. It is pure. Events come from log.ts, and persist.ts
 * writes the turn.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { checkShape } from "../memory/messages/content.ts";
import { repairMessages } from "../steps/view/repair.ts";
import { truncateOlderMessages, type TruncateOptions } from "../steps/view/truncate.ts";
import type { ModelFormatAdapter } from "./adapters/adapter.ts";
import type { ConversationEvent } from "./event.ts";
import { eventsToMessages } from "./project.ts";

export interface WorkingContextOptions {
  /** System text that stands before the conversation. Never stored. */
  readonly system?: string;
  /** Shortens long content of older messages (steps/view/truncate.ts). Default: nothing is shortened. */
  readonly truncate?: TruncateOptions;
}

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
    this.#loaded = eventsToMessages(events);
  }

  /** Throws `invalid_message` for a malformed message, and `invalid_input` for an id that the context already has. */
  addMessage(message: UIMessage): this {
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

  /** Returns all messages for a model, with every tool call paired with one result (V2). */
  getMessages(): UIMessage[] {
    const { system, truncate } = this.#options;
    const repaired = repairMessages([...this.#loaded, ...this.#added]);
    const messages = truncate === undefined ? repaired : truncateOlderMessages(repaired, truncate);
    if (system === undefined) return messages;
    return [{ id: "system", role: "system", parts: [{ type: "text", text: system }] }, ...messages];
  }

  /** Returns the same messages in a provider's format. */
  async toModel<Prompt>(adapter: ModelFormatAdapter<Prompt>): Promise<Prompt> {
    return adapter.toModel(this.getMessages());
  }
}

/** Builds a context over events, oldest first, as `loadEvents` returns them. Throws `invalid_options`. */
export function buildWorkingContext(
  events: readonly ConversationEvent[],
  options: WorkingContextOptions = {},
): WorkingContext {
  checkFields("buildWorkingContext", options, { system: true, truncate: true });
  if (options.truncate !== undefined) truncateOlderMessages([], options.truncate);
  return new WorkingContext(events, options);
}
