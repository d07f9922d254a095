/**
 * The steps of a message, between which a cut may fall.
 *
 * A step is one model call. The AI SDK marks the beginning of each with a `step-start` part and turns each into its own
 * provider message, so a cut between steps never breaks one. It is safe while a message grows. Appended parts only
 * extend the last step or open new ones, so the number of a step never changes.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { WHOLE_MESSAGE } from "../plan/outline.ts";
import type { Part } from "./tool-parts.ts";
import { sliceMessageId } from "../view/view.ts";

/** The message's parts by step. There is at least one step, possibly empty. Together they are exactly `message.parts`. */
export function messageSteps(message: UIMessage): readonly (readonly Part[])[] {
  if (message.role !== "assistant") return [message.parts];
  let current: Part[] = [];
  let started = false;
  const steps = [current];
  for (const part of message.parts) {
    if (part.type !== "step-start") {
      started = true;
    } else if (started) {
      current = [];
      started = false;
      steps.push(current);
    }
    current.push(part);
  }
  return steps;
}

/** The number of steps of the message, at least 1. */
export function stepCount(message: UIMessage): number {
  return messageSteps(message).length;
}

/**
 * The message with only the parts of steps `fromStep` to `toStep`, both included, under a synthetic id. Returns the
 * same object when that is the whole message. Steps past the end have no parts. Throws `invalid_range`.
 */
export function sliceMessage(message: UIMessage, fromStep: number, toStep: number): UIMessage {
  if (!Number.isInteger(fromStep) || !Number.isInteger(toStep) || fromStep < 0 || toStep < fromStep) {
    throw new PalimpsestError(
      "invalid_range",
      `Steps ${fromStep} to ${toStep} of message ${message.id} are no range: give integers with 0 <= fromStep <= toStep.`,
    );
  }
  const steps = messageSteps(message);
  const toEnd = toStep >= steps.length - 1;
  if (fromStep === 0 && toEnd) return message;
  return {
    ...message,
    id: sliceMessageId(message.id, fromStep, toEnd ? WHOLE_MESSAGE : toStep),
    parts: steps.slice(fromStep, toStep + 1).flat(),
  };
}
