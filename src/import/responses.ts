/**
 * Items of the OpenAI Responses API, as an input, an output or a conversation lists them.
 *
 * A reply is many items: reasoning, text, calls and what came of them, in any order. They become one message of the assistant, up to the next
 * message of anybody else. Reasoning keeps what the provider needs to take it back.
 */
import { z } from "zod";
import { reasoningPiece, stepPiece, toolOutput } from "./blocks.ts";
import { readLists, type ReadList } from "./chats.ts";
import { choose, isRecord, parseInside, type Item } from "./items.ts";
import { openAiContent, parseArguments } from "./openai.ts";
import { RESPONSE_CALL, RESPONSE_RESULT } from "./shapes.ts";
import type { Slices } from "../steps/text/slices.ts";
import {
  noMessage,
  type Chat,
  type ImportedMetadata,
  type ImportedTurn,
  type Settled,
  type ToolCall,
  type ToolResult,
  type TurnPiece,
} from "./turns.ts";

/** One item of a list. */
export type ResponseItem =
  | {
      readonly kind: "said";
      readonly role: "system" | "user" | "assistant";
      readonly id: string | null;
      readonly pieces: readonly TurnPiece[];
    }
  | { readonly kind: "reasoning"; readonly id: string | null; readonly piece: TurnPiece }
  | { readonly kind: "call"; readonly id: string | null; readonly call: ToolCall }
  | { readonly kind: "result"; readonly result: ToolResult }
  | { readonly kind: "other"; readonly type: string };

const said = z
  .object({ role: z.string(), id: z.string().nullish(), content: openAiContent })
  .transform(({ role, id, content: pieces }, context): ResponseItem => {
    const speaker = role === "developer" ? "system" : role;
    if (speaker === "system" || speaker === "user" || speaker === "assistant") {
      return { kind: "said", role: speaker, id: id ?? null, pieces };
    }
    context.addIssue({ code: "custom", path: ["role"], message: "is unknown" });
    return z.NEVER;
  });

const texts = z.array(z.object({ text: z.string() })).nullish();
const reasoning = z
  .object({ id: z.string().nullish(), summary: texts, content: texts, encrypted_content: z.string().nullish() })
  .transform(({ id, summary, content: thought, encrypted_content: encrypted }): ResponseItem => {
    const text = [...(summary ?? []), ...(thought ?? [])].map((part) => part.text).join("\n\n");
    // The AI SDK's provider expects these names.
    const fields = { ...(id && { itemId: id }), ...(encrypted && { reasoningEncryptedContent: encrypted }) };
    return { kind: "reasoning", id: id ?? null, piece: reasoningPiece(text, { name: "openai", fields }) };
  });

const call = z
  .looseObject({ type: z.string(), id: z.string().nullish(), call_id: z.string().nullish() })
  .transform(({ type, id, call_id: callId, ...fields }): ResponseItem => {
    const toolName = typeof fields["name"] === "string" ? fields["name"] : type.replace(/_call$/, "");
    const rest = Object.fromEntries(Object.entries(fields).filter(([key]) => !NAMES.has(key)));
    const known = callId ?? null;
    const byProvider = known === null;
    const { input, settled } = byProvider ? ofProvider(rest) : { input: inputOf(rest), settled: undefined };
    return {
      kind: "call",
      id: id ?? null,
      call: {
        kind: "call",
        callId: known ?? id ?? null,
        toolName,
        input,
        ...(byProvider && { providerExecuted: true }),
        settled,
      },
    };
  });

/** Fields of a call that say neither what was asked nor what came of it. */
const NAMES: ReadonlySet<string> = new Set(["name", "status"]);

/** Returns what a call was asked: its arguments, its text, or all that it says. */
function inputOf(fields: Readonly<Record<string, unknown>>): unknown {
  if (typeof fields["arguments"] === "string") return parseArguments(fields["arguments"]);
  return "input" in fields ? fields["input"] : (fields["action"] ?? fields);
}

const ASKED = ["action", "queries", "code", "arguments", "input"] as const;

/** A call that the provider ran itself. What came of it stands in the same item. */
function ofProvider(fields: Readonly<Record<string, unknown>>): { input: unknown; settled: Settled } {
  const asked = ASKED.find((key) => fields[key] !== undefined);
  const output = Object.fromEntries(
    Object.entries(fields).filter(([key, value]) => key !== asked && value !== null && value !== undefined),
  );
  const input = asked === undefined ? {} : fields[asked];
  return {
    input: typeof input === "string" && asked === "arguments" ? parseArguments(input) : input,
    settled: { output, failed: false },
  };
}

const result = z
  .object({ call_id: z.string(), output: toolOutput })
  .transform(({ call_id: callId, output }): ResponseItem => {
    return { kind: "result", result: { kind: "result", callId, toolName: null, output, failed: false } };
  });

const other = z.looseObject({ type: z.string() }).transform(({ type }): ResponseItem => ({ kind: "other", type }));

const byType = choose("type", (type): z.ZodType<ResponseItem> => {
  if (type === "message") return said;
  if (type === "reasoning") return reasoning;
  if (RESPONSE_RESULT.test(type)) return result;
  return RESPONSE_CALL.test(type) ? call : other;
});

/** One item. A message need not name its type. */
export const responseItem: z.ZodType<ResponseItem> = z.unknown().transform((value, context): ResponseItem => {
  const schema = isRecord(value) && value["type"] === undefined ? said : byType;
  return parseInside(schema, value, context);
});

/** Returns the conversations of `items`. Throws `import_failed`. */
export function* readResponses(items: readonly Item[]): Slices<Chat[]> {
  const lists = yield* readLists(items, responseItem, "openai-responses");
  return lists.map((each) => ({ label: each.label, turns: turnsOf(inOrder(each)) }));
}

/** The API lists the items of a conversation newest first, unless asked. A result never comes before its call. */
function inOrder({ values, isPage }: ReadList<ResponseItem>): readonly ResponseItem[] {
  if (!isPage) return values;
  const called = new Set<string | null>();
  const answered = new Set<string>();
  let balance = 0;
  for (const item of values) {
    if (item.kind === "call") {
      called.add(item.call.callId);
      if (item.call.callId !== null && answered.has(item.call.callId)) balance--;
    } else if (item.kind === "result") {
      answered.add(item.result.callId);
      if (called.has(item.result.callId)) balance++;
    }
  }
  const isReversed = balance < 0 || (balance === 0 && isByUser(values.at(-1)) && !isByUser(values[0]));
  return isReversed ? values.toReversed() : values;
}

function isByUser(item: ResponseItem | undefined): boolean {
  return item?.kind === "said" && item.role !== "assistant";
}

/** A list item with what its source says beside it. */
export interface Dated {
  readonly item: ResponseItem;
  readonly metadata: ImportedMetadata;
}

/** Returns the turns of items in order. */
export function turnsOf(items: readonly ResponseItem[]): ImportedTurn[] {
  return turnsOfDated(items.map((item) => ({ item, metadata: {} })));
}

/**
 * Works as {@link turnsOf}. A reply has the metadata of its first item, and its place, so that its id stays the same when a longer file is
 * imported again.
 */
export function turnsOfDated(items: readonly Dated[]): ImportedTurn[] {
  const turns: (ImportedTurn | Reply)[] = [];
  const answers = new Answers(items);
  let reply: Reply | null = null;
  for (const { item, metadata } of items) {
    if (item.kind === "other") turns.push(noMessage(item.type));
    else if (item.kind === "said" && item.role !== "assistant") {
      reply = null;
      turns.push({ role: item.role, pieces: item.pieces, metadata, id: item.id });
    } else if (item.kind === "result" && !answers.isStray(item.result)) reply?.answered();
    else {
      if (reply === null) turns.push((reply = new Reply(metadata)));
      reply.add(item, answers);
    }
  }
  return turns.map((turn) => (turn instanceof Reply ? turn.turn() : turn));
}

/** Results by the call that each answers. Calls and results may come in any order. */
class Answers {
  readonly #waiting = new Map<string, ToolResult[]>();
  readonly #strays = new Set<ToolResult>();

  constructor(items: readonly Dated[]) {
    const open = new Map<string, number>();
    for (const { item } of items) {
      const callId = item.kind === "call" ? item.call.callId : null;
      if (callId !== null) open.set(callId, (open.get(callId) ?? 0) + 1);
    }
    for (const { item } of items) {
      if (item.kind !== "result") continue;
      const { callId } = item.result;
      const left = open.get(callId) ?? 0;
      open.set(callId, left - 1);
      const waiting = this.#waiting.get(callId);
      if (left <= 0) this.#strays.add(item.result);
      else if (waiting === undefined) this.#waiting.set(callId, [item.result]);
      else waiting.push(item.result);
    }
  }

  isStray(answer: ToolResult): boolean {
    return this.#strays.has(answer);
  }

  of({ callId }: ToolCall): ToolResult | undefined {
    return callId === null ? undefined : this.#waiting.get(callId)?.shift();
  }
}

/** One message of the assistant in the making. */
class Reply {
  readonly #metadata: ImportedMetadata;
  readonly #pieces: TurnPiece[] = [];
  #id: string | null = null;
  /** True once a result came, which the model read before it went on. */
  #isAnswered = false;

  constructor(metadata: ImportedMetadata) {
    this.#metadata = metadata;
  }

  answered(): void {
    this.#isAnswered = true;
  }

  add(item: Exclude<ResponseItem, { kind: "other" }>, answers: Answers): void {
    if (item.kind === "result") {
      this.#pieces.push(item.result);
      return;
    }
    this.#id ??= item.id;
    if (this.#isAnswered) this.#pieces.push(stepPiece());
    this.#isAnswered = false;
    if (item.kind === "said") this.#pieces.push(...item.pieces);
    else if (item.kind === "reasoning") this.#pieces.push(item.piece);
    else this.#pieces.push({ ...item.call, settled: item.call.settled ?? answers.of(item.call) });
  }

  turn(): ImportedTurn {
    return { role: "assistant", pieces: this.#pieces, metadata: this.#metadata, id: this.#id };
  }
}
