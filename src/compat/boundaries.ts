/** Boundaries between messages, as the helpers of the SDK's sessions place them. Boundary `n` lies before message `n`. */
import type { UIMessage } from "ai";
import { toolPart } from "../steps/message/message.ts";

/** The first boundary from `index` on that separates no tool call from its result. */
export function alignBoundaryForward(messages: readonly UIMessage[], index: number): number {
  const held = heldBoundaries(messages);
  let at = index;
  while (held.has(at)) at++;
  return at;
}

/** The last boundary up to `index` that separates no tool call from its result. */
export function alignBoundaryBackward(messages: readonly UIMessage[], index: number): number {
  const held = heldBoundaries(messages);
  let at = index;
  while (held.has(at)) at--;
  return at;
}

/** Boundaries with a call before and its result behind them. Boundary `n` lies before message `n`. */
function heldBoundaries(messages: readonly UIMessage[]): ReadonlySet<number> {
  const held = new Set<number>();
  const calledAt = new Map<string, number>();
  for (const [index, message] of messages.entries()) {
    for (const part of message.parts) {
      const tool = toolPart(part);
      if (tool === null) continue;
      const called = calledAt.get(tool.toolCallId);
      if (called === undefined) calledAt.set(tool.toolCallId, index);
      else for (let boundary = called + 1; boundary <= index; boundary++) held.add(boundary);
    }
  }
  return held;
}
