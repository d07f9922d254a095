/**
 * The turn's own steps among the messages of a view: those that came since its first prompt.
 *
 * They follow the message with which the first prompt ended, or its steps of then. Where a summary has covered that one, they follow the
 * summary.
 */
import type { UIMessage } from "ai";
import { messageSteps } from "../steps/message/message.ts";
import { WHOLE_MESSAGE } from "../steps/plan/outline.ts";
import { isSummary, parseSyntheticId, sliceMessageId } from "../steps/view/view.ts";

/** The messages of a view before the turn's own, and those. */
export interface Divided {
  readonly before: UIMessage[];
  readonly own: UIMessage[];
}

export class OwnSteps {
  /** The end of the first prompt. Null for none yet, and for an empty one. */
  #begun: { readonly id: string | null; readonly steps: number } | null = null;

  divide(messages: UIMessage[]): Divided {
    const last = messages.at(-1);
    if (this.#begun === null) {
      this.#begun = last === undefined ? { id: null, steps: 0 } : { id: shown(last).id, steps: shown(last).to };
      return { before: messages, own: [] };
    }
    const { id, steps } = this.#begun;
    const summary = messages.findLastIndex(isSummary);
    const begun = messages.findLastIndex((message) => shown(message).id === id);
    const end = messages[begun];
    if (end === undefined || begun < summary)
      return dividedAt(messages, summary === -1 ? messages.length : summary + 1);
    const { from, to } = shown(end);
    if (to <= steps) return dividedAt(messages, begun + 1);
    if (from >= steps) return dividedAt(messages, begun);
    const { before, own } = dividedAt(messages, begun);
    return {
      before: [...before, stepsOf(end, [from, steps - 1])],
      own: [stepsOf(end, [steps, WHOLE_MESSAGE]), ...own.slice(1)],
    };
  }
}

function dividedAt(messages: readonly UIMessage[], at: number): Divided {
  return { before: messages.slice(0, at), own: messages.slice(at) };
}

/** The stored message behind one of a view, and the numbers of its steps that the view shows. The second is not included. */
function shown(message: UIMessage): { readonly id: string; readonly from: number; readonly to: number } {
  const synthetic = parseSyntheticId(message.id);
  const [id, from] =
    synthetic?.kind === "slice" ? [synthetic.messageId, synthetic.fromStep] : ([message.id, 0] as const);
  return { id, from, to: from + (message.parts.length === 0 ? 0 : messageSteps(message).length) };
}

/** These steps of a message of a view, both included, by the numbers that they have in the stored one. */
function stepsOf(message: UIMessage, [first, last]: readonly [number, number]): UIMessage {
  const { id, from } = shown(message);
  const parts = messageSteps(message)
    .slice(first - from, last - from + 1)
    .flat();
  return { ...message, id: sliceMessageId(id, first, last), parts };
}
