/**
 * Thoughts that a provider binds to what stood before them.
 *
 * Newer models sign each thought with all that stood before it: instructions, tools, and every message. Where one of these changed, the request is
 * refused. So what a thought was made on is noted as a digest, and a prompt leaves out the thoughts that have something else before them now. It
 * needs no knowledge of why that changed: a summary, a shortened view, an edit, another branch. The note tells too whether another vendor's model
 * signed the thought in Anthropic's form, because Claude refuses such a signature.
 *
 * Safe because a thought is left out only where the provider would refuse it, and one that nobody noted stays. A thought that is left out
 * changes what stands before the next one, so that goes as well, unless it was made without it. What is compared is what a
 * provider sees: texts, calls, results and signatures in their order, however they are divided into messages. Pure.
 */
import type { ModelMessage, UIMessage } from "ai";
import { fieldText, hasResult, innerParts, jsonText, toolName, toolPart, type Part } from "../message/message.ts";
import { digest } from "../text/digest.ts";

/** A part of a prompt, in the form that the AI SDK gives to a provider, and who says it. */
export interface Said {
  readonly speaker: "assistant" | "user";
  readonly part: object;
}

/** What of a prompt is no message. */
export interface Around {
  readonly instructions?: unknown;
  readonly tools?: Readonly<Record<string, { readonly description?: unknown }>> | undefined;
  /** The provider and the model that are asked. Undefined where the model is not known. */
  readonly model?: string | undefined;
}

/** Other vendors' models, which bind no thought. Some have an endpoint of Anthropic's form. */
const NOT_CLAUDE =
  /^(?!.*claude).*(?:glm|kimi|moonshot|deepseek|minimax|qwen|mimo|longcat|doubao|gpt|gemini|grok|llama|mistral)/i;
/** Ends the note of a thought that one of them signed. */
const THEIRS = " theirs";

/** What each thought was made on, by its mark. Null or missing where nobody noted it. */
type Known = (mark: string) => string | null | undefined;

/** Whether each part stays in the prompt. */
export function staying(said: readonly Said[], around: Around, known: Known): boolean[] {
  let before = beginning(around);
  const { model = "" } = around;
  const isClaude = !NOT_CLAUDE.test(model);
  return said.map((each) => {
    const mark = markOf(each.part);
    const made = mark === null ? null : known(mark);
    const isRefused = made !== before && (model !== "" || made !== before + THEIRS);
    if (typeof made === "string" && isClaude && isRefused) return false;
    before = after(before, each);
    return true;
  });
}

/** What the thoughts among `more` were made on, where these parts came behind that prompt. */
export function madeOn(prompt: readonly Said[], around: Around, more: readonly Said[]): Map<string, string> {
  const made = new Map<string, string>();
  if (!more.some(({ part }) => markOf(part) !== null)) return made;
  const theirs = NOT_CLAUDE.test(around.model ?? "") ? THEIRS : "";
  let before = prompt.reduce(after, beginning(around));
  for (const each of more) {
    const mark = markOf(each.part);
    if (mark !== null) made.set(mark, before + theirs);
    before = after(before, each);
  }
  return made;
}

/**
 * The parts of a reply that came behind a prompt, which may end with the reply's earlier steps, or with those of them that no summary covers.
 * Thoughts are not compared, because a prompt may leave them out, and outputs are not, because tools may show a model another form.
 */
export function newIn(reply: readonly Said[], prompt: readonly Said[]): readonly Said[] {
  const [told, sent] = [compared(reply), compared(prompt)];
  for (let end = told.length; end > 0; end--) {
    let same = 0;
    while (same < end && told[end - 1 - same]?.key === sent.at(-1 - same)?.key) same++;
    const before = sent.at(-1 - same);
    if (same === 0 || (same < end && before?.isAsked !== true)) continue;
    const rest = reply.slice((told[end - 1]?.at ?? 0) + 1);
    const begins = rest.findIndex((each) => !isResult(each));
    return begins === -1 ? [] : rest.slice(begins);
  }
  return reply;
}

function compared(said: readonly Said[]) {
  return said.flatMap((each, at) => {
    const { type } = each.part as { type?: unknown };
    const key = type === "reasoning" || type === "tool-result" ? "" : after("", each);
    return key === "" ? [] : [{ at, key, isAsked: each.speaker === "user" }];
  });
}

function isResult({ part }: Said): boolean {
  return (part as { type?: unknown }).type === "tool-result";
}

export function marksOf(said: readonly Said[]): string[] {
  return said.flatMap(({ part }) => markOf(part) ?? []);
}

export function saidIn(message: ModelMessage): Said[] {
  const speaker = message.role === "assistant" ? "assistant" : "user";
  const { content } = message;
  const parts: readonly object[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return parts.map((part) => ({ speaker, part }));
}

/** What a part of a message of a view says, as {@link saidIn} has it. */
export function saidBy(role: UIMessage["role"], part: Part): Said[] {
  const speaker = role === "assistant" ? "assistant" : "user";
  const tool = toolPart(part);
  if (tool !== null) {
    const { toolCallId, input, providerExecuted } = tool;
    const call = { type: "tool-call", toolCallId, toolName: toolName(tool), input };
    const result = { type: "tool-result", toolCallId, output: tool.errorText ?? tool.output, providerExecuted };
    return [
      { speaker, part: call },
      ...(hasResult(tool) ? [{ speaker: providerExecuted === true ? speaker : "user", part: result } as const] : []),
    ];
  }
  if (part.type === "steering-message") return innerParts(part).flatMap((each) => saidBy("user", each));
  if (part.type === "reasoning") {
    const { text, providerMetadata } = part;
    return [{ speaker, part: { type: "reasoning", text, providerOptions: providerMetadata } }];
  }
  if (part.type === "file") return [{ speaker, part: { type: "file", mediaType: part.mediaType, data: part.url } }];
  return part.type === "text" ? [{ speaker, part: { type: "text", text: fieldText(part.text) } }] : [];
}

/** The digest of instructions and tools. */
function beginning({ instructions, tools = {} }: Around): string {
  const named = Object.entries(tools).map(([name, { description }]) => [name, textOf(description)]);
  return digest(textOf(instructions), JSON.stringify(named));
}

function textOf(value: unknown): string {
  return typeof value === "function" ? "" : sorted(value);
}

/** The digest of a prompt with one part more. A part that no provider sees changes nothing. */
function after(before: string, { speaker, part }: Said): string {
  const {
    type,
    text,
    toolCallId,
    toolName: name,
    input,
    output,
    providerExecuted,
    mediaType,
    data,
  } = part as Record<string, unknown>;
  const isSeen = type === "tool-result" && (speaker === "user" || providerExecuted === true);
  const said =
    type === "text" && text !== ""
      ? ["t", textOf(text)]
      : type === "reasoning"
        ? ["r", markOf(part) ?? textOf(text)]
        : type === "tool-call"
          ? ["c", textOf(toolCallId), textOf(name), sorted(input)]
          : isSeen
            ? ["o", textOf(toolCallId), sorted(output)]
            : type === "file" || type === "image"
              ? ["f", textOf(mediaType), jsonText(data)]
              : null;
  return said === null ? before : digest(before, speaker, ...said);
}

/** JSON with the keys of objects in their order, because a stored value may have them in another one. */
function sorted(value: unknown): string {
  return (
    JSON.stringify(value, (_key, each: unknown) => {
      if (typeof each === "bigint") return `${each}`;
      if (typeof each !== "object" || each === null || Array.isArray(each)) return each;
      return Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    }) ?? ""
  );
}

/** The digest of a thought's signature. Null for a part without one. */
function markOf(part: object): string | null {
  const { type, providerOptions } = part as { type?: unknown; providerOptions?: unknown };
  if (type !== "reasoning" || typeof providerOptions !== "object" || providerOptions === null) return null;
  for (const options of Object.values(providerOptions)) {
    const { signature, redactedData } = (options ?? {}) as { signature?: unknown; redactedData?: unknown };
    const signed = signature ?? redactedData;
    if (typeof signed === "string" && signed !== "") return digest(signed);
  }
  return null;
}
