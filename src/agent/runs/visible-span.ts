/**
 * Converts ids as a view shows them to the span that they stand for. A summary's id stands for all covered messages, and the id of a part
 * for that part. Any other id is a whole message's, and the fence checks whether it exists.
 */
import type { History } from "../../memory/messages/history.ts";
import { WHOLE_MESSAGE, type Span } from "../../steps/plan/outline.ts";
import { parseSyntheticId } from "../../steps/view/view.ts";

export function visibleSpan(history: History, fromMessageId: string, toMessageId: string): Span {
  const { fromId, fromStep } = standsFor(history, fromMessageId);
  const { toId, toStep } = standsFor(history, toMessageId);
  return { fromId, fromStep, toId, toStep };
}

function standsFor(history: History, id: string): Span {
  const synthetic = parseSyntheticId(id);
  if (synthetic?.kind === "slice") {
    const { messageId, fromStep, toStep } = synthetic;
    return { fromId: messageId, fromStep, toId: messageId, toStep };
  }
  const overlay = synthetic?.kind === "overlay" ? history.overlays.get(synthetic.overlayId) : null;
  return overlay?.span ?? { fromId: id, fromStep: 0, toId: id, toStep: WHOLE_MESSAGE };
}
