/** What messages weigh, for every policy alike: our estimate. */
import type { UIMessage } from "ai";
import { measureMessage } from "../../src/steps/measure.ts";

export function weigh(messages: readonly UIMessage[]): number {
  return messages.reduce((sum, message) => sum + measureMessage(message).tokens, 0);
}
