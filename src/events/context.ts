/**
 * A turn in the making: what the model is sent, and what came of it so far.
 *
 * Job: hold a turn's new messages apart from what is stored until the turn is whole. Boundary: pure; events come from
 * log.ts, and persist.ts writes the turn.
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
  /** Put before the conversation. Never stored. */
  readonly system?: string;
  /** Shortens what is long in older messages (steps/truncate.ts). Default: nothing is shortened. */
  readonly truncate?: TruncateOptions;
}

export class WorkingContext {
  /** The newest stored message that the context was built from; null when there was none. */
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

  /** Throws `invalid_message` for what is no message, `invalid_input` for an id that the context has already. */
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

  /** What was added, in order, as it was added. */
  getNewMessages(): UIMessage[] {
    return [...this.#added];
  }

  /** Everything that a model is sent, every tool call paired with one result (V2). */
  getMessages(): UIMessage[] {
    const { system, truncate } = this.#options;
    const repaired = repairMessages([...this.#loaded, ...this.#added]);
    const messages = truncate === undefined ? repaired : truncateOlderMessages(repaired, truncate);
    if (system === undefined) return messages;
    return [{ id: "system", role: "system", parts: [{ type: "text", text: system }] }, ...messages];
  }

  /** The same in a provider's format. */
  async toModel<Prompt>(adapter: ModelFormatAdapter<Prompt>): Promise<Prompt> {
    return adapter.toModel(this.getMessages());
  }
}

/** A context over events, oldest first, as `loadEvents` gives them. Throws `invalid_options`. */
export function buildWorkingContext(
  events: readonly ConversationEvent[],
  options: WorkingContextOptions = {},
): WorkingContext {
  checkFields("buildWorkingContext", options, { system: true, truncate: true });
  if (options.truncate !== undefined) truncateOlderMessages([], options.truncate);
  return new WorkingContext(events, options);
}
