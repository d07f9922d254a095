/** Messages as text, for a judge that reads them. */
import type { UIMessage } from "ai";
import type { Part } from "../../../src/steps/message/message.ts";
import { estimateTokens, fieldText, hasResult, toolName, toolPart } from "../in-package.ts";

/** Longest parts that are tried, in characters, until a conversation fits. */
const CAPS = [Infinity, 60_000, 30_000, 15_000, 8_000, 4_000, 2_000, 1_000, 500] as const;

/** The view of a model as text. Ids are left out, because a model is not told them. */
export function sayView(messages: readonly UIMessage[]): string {
  return messages.map((message) => `### ${message.role}\n${sayMessage(message)}`).join("\n\n");
}

/** Messages with a short name each, `m1` on, in at most `tokens` tokens. Null where even the shortest form is longer. */
export function sayNumbered(messages: readonly UIMessage[], first: number, tokens: number): string | null {
  for (const cap of CAPS) {
    const text = messages
      .map((message, at) => `### m${first + at} ${message.role}\n${sayMessage(message, cap)}`)
      .join("\n\n");
    if (estimateTokens(text) <= tokens) return text;
  }
  return null;
}

/** All that a quotation of the message may be taken from, with single blanks for any white space. */
export function quotable(message: UIMessage): string {
  const known = quotables.get(message);
  if (known !== undefined) return known;
  const text = squeeze([sayMessage(message), ...message.parts.flatMap(leaves)].join("\n"));
  quotables.set(message, text);
  return text;
}

const quotables = new WeakMap<UIMessage, string>();

export function squeeze(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

function sayMessage({ parts }: UIMessage, cap = Infinity): string {
  return parts.flatMap((part) => sayPart(part, cap)).join("\n");
}

function sayPart(part: Part, cap: number): string[] {
  if (part.type === "step-start") return [];
  if (part.type === "text" || part.type === "reasoning") return [cut(part.text, cap)];
  const tool = toolPart(part);
  if (tool === null) return [`<${part.type}>`];
  const call = `<call ${toolName(tool)}> ${cut(fieldText(tool.input), cap)}`;
  if (!hasResult(tool)) return [call];
  const result = "output" in tool && tool.output !== undefined ? tool.output : tool.errorText;
  return [call, `<result> ${cut(fieldText(result), cap)}`];
}

/** Both ends of a long text, with a mark between them. */
function cut(text: string, cap: number): string {
  if (text.length <= cap) return text;
  const end = Math.floor(cap / 3);
  return `${text.slice(0, cap - end)}\n[… ${text.length - cap} characters left out …]\n${text.slice(-end)}`;
}

/** Every text inside a value, as it stands there and not as JSON escapes it. */
function leaves(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [];
}
