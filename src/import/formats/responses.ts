/**
 * Items of the OpenAI Responses API, as an input, an output or a conversation lists them.
 *
 * A reply is many items: reasoning, text, calls and what came of them, in any order. They become one message of the assistant, up to the next
 * message of anybody else. Reasoning keeps what the provider needs to take it back.
 */
import type { Slices } from "../../steps/text/text.ts";
import { type Fields, type Item } from "../items.ts";
import {
  joinReplies,
  noMessage,
  reasoningPart,
  toolOutput,
  type Chat,
  type ImportedTurn,
  type StreamTurn,
  type ToolCall,
  type ToolResult,
  type TurnPiece,
} from "../turns.ts";
import { readLists, RESPONSE_CALL, RESPONSE_RESULT, type ReadList } from "./lists.ts";
import { openAiContent, parseArguments } from "./openai.ts";

/** Reads one item. A message need not name its type. */
export function responseItem(item: Fields): StreamTurn {
  const type = item.maybeText("type") ?? "message";
  if (type === "message") return said(item);
  if (type === "reasoning") return assistantTurn(reasoningOf(item), item.maybeText("id"));
  if (RESPONSE_RESULT.test(type)) return assistantTurn(resultOf(item));
  return RESPONSE_CALL.test(type) ? assistantTurn(callOf(item, type), item.maybeText("id")) : noMessage(type);
}

function assistantTurn(piece: TurnPiece, id: string | null = null): StreamTurn {
  return { role: "assistant", pieces: [piece], metadata: {}, id };
}

function said(item: Fields): StreamTurn {
  const role = item.oneOf("role", ["system", "developer", "user", "assistant"]);
  const pieces = openAiContent(item);
  return { role: role === "developer" ? "system" : role, pieces, metadata: {}, id: item.maybeText("id") };
}

function reasoningOf(item: Fields): TurnPiece {
  const thoughts = ["summary", "content"].flatMap((key) =>
    item.has(key) ? item.list(key, (part) => part.text("text")) : [],
  );
  // The AI SDK's provider expects these names.
  const fields = { itemId: item.maybeText("id"), reasoningEncryptedContent: item.maybeText("encrypted_content") };
  return reasoningPart(thoughts.join("\n\n"), "openai", fields);
}

function resultOf(item: Fields): ToolResult {
  return {
    type: "result",
    callId: item.text("call_id"),
    toolName: null,
    output: toolOutput(item.get("output")),
    failed: false,
  };
}

function callOf(item: Fields, type: string): ToolCall {
  const [name, id, callId] = [item.get("name"), item.maybeText("id"), item.maybeText("call_id")];
  const toolName = typeof name === "string" ? name : type.replace(/_call$/, "");
  const rest = item.without("type", "id", "call_id", "name", "status");
  return callId === null
    ? { type: "call", callId: id, toolName, providerExecuted: true, ...ofProvider(rest) }
    : { type: "call", callId, toolName, input: inputOf(rest) };
}

/** Returns what a call was asked: its arguments, its text, or all that it says. */
function inputOf(fields: Readonly<Record<string, unknown>>): unknown {
  if (typeof fields["arguments"] === "string") return parseArguments(fields["arguments"]);
  return "input" in fields ? fields["input"] : (fields["action"] ?? fields);
}

const ASKED = ["action", "queries", "code", "arguments", "input"];

/** A call that the provider ran itself. What came of it stands in the same item. */
function ofProvider(fields: Readonly<Record<string, unknown>>): Pick<ToolCall, "input" | "settled"> {
  const asked = ASKED.find((key) => fields[key] !== undefined);
  const came = Object.entries(fields).filter(([key, value]) => key !== asked && value !== null && value !== undefined);
  const input = asked === undefined ? {} : fields[asked];
  return {
    input: typeof input === "string" && asked === "arguments" ? parseArguments(input) : input,
    settled: { output: Object.fromEntries(came), failed: false },
  };
}

/** Returns the conversations of `items`. Throws `import_failed`. */
export function* readResponses(items: readonly Item[]): Slices<Chat[]> {
  const lists = yield* readLists(items, responseItem, "openai-responses");
  return lists.map((each) => ({ label: each.label, turns: turnsOf(inOrder(each)) }));
}

/** Returns the turns of items. Each output goes into its call, in whatever order both came. */
export function turnsOf(items: readonly StreamTurn[]): ImportedTurn[] {
  const calls = Map.groupBy(items.flatMap(callsIn), ({ callId }) => callId);
  const entries = items.map((item): StreamTurn => {
    const [piece] = item.pieces;
    if (piece?.type !== "result") return item;
    const call = calls.get(piece.callId)?.shift();
    if (call === undefined) return item;
    call.settled ??= piece;
    return { ...item, pieces: [], isAnswer: true };
  });
  return joinReplies(entries);
}

function callsIn({ pieces }: StreamTurn): ToolCall[] {
  return pieces.filter((piece) => piece.type === "call");
}

/** The API lists the items of a conversation newest first, unless asked. A result never comes before its call. */
function inOrder({ values, isPage }: ReadList<StreamTurn>): readonly StreamTurn[] {
  if (!isPage) return values;
  const called = new Set<string | null>();
  const answered = new Set<string>();
  let balance = 0;
  for (const piece of values.flatMap(({ pieces }) => pieces)) {
    if (piece.type === "call") {
      called.add(piece.callId);
      if (piece.callId !== null && answered.has(piece.callId)) balance--;
    } else if (piece.type === "result") {
      answered.add(piece.callId);
      if (called.has(piece.callId)) balance++;
    }
  }
  const isReversed = balance < 0 || (balance === 0 && isByUser(values.at(-1)) && !isByUser(values[0]));
  return isReversed ? values.toReversed() : values;
}

function isByUser(item: StreamTurn | undefined): boolean {
  return item?.role === "user" || item?.role === "system";
}
