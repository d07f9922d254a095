/**
 * The facts of a transcript in which summaries stand for messages. It gathers the facts of messages and takes the facts
 * of summaries as given.
 */
import type { UIMessage } from "ai";
import { NO_FACTS, type Facts } from "../../facts/fact.ts";
import { gatherFacts, mergeFacts } from "../../facts/gather.ts";
import type { TranscriptElement } from "../../steps/draft/render.ts";

/**
 * Merges facts in transcript order, because only a later message can end an instruction. `overlayFacts` has the facts of
 * each summary, oldest first.
 */
export function factsOfElements(elements: readonly TranscriptElement[], overlayFacts: readonly Facts[]): Facts {
  const parts: Facts[] = [];
  let messages: UIMessage[] = [];
  let summaries = 0;
  for (const element of elements) {
    if (element.kind === "message") {
      messages.push(element.message);
      continue;
    }
    parts.push(gatherFacts(messages), overlayFacts[summaries++] ?? NO_FACTS);
    messages = [];
  }
  return mergeFacts([...parts, gatherFacts(messages)]);
}
