/**
 * Keeps a turn from sending thoughts that their provider no longer takes.
 *
 * Newer models sign each thought with all that stood before it: instructions, tools, and every message. Where one of these changed, the request is
 * refused. So a step that ends notes what its thoughts were made on, and a prompt leaves out those that have something else before them now. It
 * needs no knowledge of why that changed: a summary, a shortened view, an edit, another branch.
 *
 * Safe because a thought is left out only where the provider would refuse it, and one that nobody noted stays. A thought that is left out
 * changes what stands before the next one, so that goes as well, unless it was made without it. What is compared is what a
 * provider sees: texts, calls, results and signatures in their order, however they are divided into messages.
 */
import type { ModelMessage, StepResult, ToolSet } from "ai";
import { digest } from "../steps/text/digest.ts";
import { jsonText } from "../steps/message/message.ts";

/** Where the notes are kept. */
export interface Notes {
  prefixes(marks: readonly string[]): ReadonlyMap<string, string>;
  keep(prefixes: ReadonlyMap<string, string>): void;
}

/** What of a prompt is no message. */
export interface Around {
  readonly instructions?: unknown;
  readonly tools?: ToolSet | undefined;
}

export class Thoughts {
  readonly #notes: Notes;
  readonly #known = new Map<string, string | null>();
  #last: { readonly messages: readonly ModelMessage[]; readonly around: Around } = { messages: [], around: {} };

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** The prompt without the thoughts that have something else before them than when they were made. */
  bound(messages: readonly ModelMessage[], around: Around): ModelMessage[] {
    const marks = messages.flatMap(partsOf).flatMap((part) => markOf(part) ?? []);
    this.#look(marks);
    let before = marks.length === 0 ? "" : beginning(around);
    const kept = messages.flatMap((message): ModelMessage[] => {
      if (marks.length === 0) return [message];
      const speaker = speakerOf(message);
      const parts = partsOf(message);
      const bound = parts.filter((part) => {
        const made = this.#known.get(markOf(part) ?? "");
        if (typeof made === "string" && made !== before) return false;
        before = after(before, speaker, part);
        return true;
      });
      if (bound.length === parts.length) return [message];
      return bound.length === 0 ? [] : [{ ...message, content: bound } as ModelMessage];
    });
    this.#last = { messages: kept, around };
    return kept;
  }

  /** Notes what the step's thoughts were made on, which is the last prompt and what the step said before them. */
  made(content: StepResult<ToolSet>["content"] = []): void {
    const said = content.map((part) => ({
      ...part,
      providerOptions: (part as { providerMetadata?: unknown }).providerMetadata,
    }));
    if (!said.some((part) => markOf(part) !== null)) return;
    const { messages, around } = this.#last;
    let before = beginning(around);
    for (const message of messages) {
      for (const part of partsOf(message)) before = after(before, speakerOf(message), part);
    }
    const prefixes = new Map<string, string>();
    for (const part of said) {
      const mark = markOf(part);
      if (mark !== null) {
        prefixes.set(mark, before);
        this.#known.set(mark, before);
      }
      before = after(before, "a", part);
    }
    this.#notes.keep(prefixes);
  }

  #look(marks: readonly string[]): void {
    const unknown = marks.filter((mark) => !this.#known.has(mark));
    if (unknown.length === 0) return;
    const found = this.#notes.prefixes(unknown);
    for (const mark of unknown) this.#known.set(mark, found.get(mark) ?? null);
  }
}

/** The digest of instructions and tools. */
function beginning({ instructions, tools = {} }: Around): string {
  const named = Object.entries(tools).map(([name, { description }]) => [name, textOf(description)]);
  return digest(textOf(instructions), JSON.stringify(named));
}

function textOf(value: unknown): string {
  return typeof value === "function" ? "" : sorted(value);
}

function speakerOf({ role }: ModelMessage): "a" | "u" {
  return role === "assistant" ? "a" : "u";
}

function partsOf({ content }: ModelMessage): readonly object[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** The digest of a prompt with one part more. A part that no provider sees changes nothing. */
function after(before: string, speaker: "a" | "u", part: object): string {
  const { type, text, toolCallId, toolName, input, output, providerExecuted, mediaType, data } = part as Record<
    string,
    unknown
  >;
  const isResult = type === "tool-result" && (speaker === "u" || providerExecuted === true);
  const said =
    type === "text" && text !== ""
      ? ["t", textOf(text)]
      : type === "reasoning"
        ? ["r", markOf(part) ?? textOf(text)]
        : type === "tool-call"
          ? ["c", textOf(toolCallId), textOf(toolName), sorted(input)]
          : isResult
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
