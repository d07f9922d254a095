/**
 * Quotes how a conversation began, in the user's and the model's own words, for a summary that hides those messages.
 *
 * Messages and budgets in, a text out. No text is reworded. A text over the budget is cut at its end, and the rules
 * from the missing rest are listed after it.
 */
import type { UIMessage } from "ai";
import type { CountTokens } from "../steps/message/measure.ts";
import { NO_FACTS } from "./fact.ts";
import { gatherRules } from "./gather.ts";
import { pickInForce } from "./pick.ts";
import { contains } from "./contains.ts";
import { renderTranscript, wholeCharacters } from "../steps/draft/render.ts";
import { textsOf } from "../steps/message/tool-parts.ts";

/** The full text of messages. A single user message is quoted as it is. */
export function wholeWords(messages: readonly UIMessage[]): string {
  const [first] = messages;
  if (messages.length === 1 && first?.role === "user") return wordsOf(first);
  const limits = { toolChars: Infinity, textChars: Infinity, reasoningChars: 0 };
  return renderTranscript(
    messages.map((message) => ({ kind: "message" as const, message })),
    limits,
  );
}

/** The beginning of a message within `tokens`, then the rules missing from it, within as many tokens again. */
export function beginningWords(message: UIMessage, tokens: number, countTokens: CountTokens): string {
  const text = wordsOf(message);
  const beginning = cutAt(text, tokens, countTokens);
  if (beginning === text) return text;
  const says = contains(beginning);
  const rules = gatherRules([message]).filter(({ value }) => !says(value));
  const { rules: kept } = pickInForce({ ...NO_FACTS, rules }, { budgetTokens: tokens, countTokens });
  const lines = kept.map(({ value }) => `- ${value}`);
  return [`${beginning} […]`, ...(lines.length === 0 ? [] : ["", "Its rules:", ...lines])].join("\n");
}

function wordsOf({ parts }: UIMessage): string {
  return textsOf(parts).join("\n");
}

/** The longest beginning of the text within so many tokens. */
function cutAt(text: string, tokens: number, countTokens: CountTokens): string {
  let cut = wholeCharacters(text, 0, tokens * 8);
  while (cut !== "" && countTokens(cut) > tokens) cut = wholeCharacters(cut, 0, Math.floor(cut.length * 0.9));
  return cut;
}
