/** The stream that the Gemini CLI writes, one event a line. An answer comes in pieces, and calls and results are events of their own. */
import type { Slices } from "../../steps/text/text.ts";
import { Fields, readEach, type Item } from "../items.ts";
import { joinReplies, metadataOf, noMessage, textPart, type Chat, type StreamTurn, type TurnPiece } from "../turns.ts";

function readEvent(value: unknown): StreamTurn {
  const event = new Fields(value);
  const type = event.text("type");
  const metadata = metadataOf({ createdAt: event.time("timestamp") });
  const turnOf = (piece: TurnPiece, more: Partial<StreamTurn>): StreamTurn => {
    return { role: "assistant", pieces: [piece], metadata, id: null, ...more };
  };
  if (type === "message") {
    const role = event.oneOf("role", ["user", "assistant"]);
    return turnOf(textPart(event.text("content")), { role, continues: true });
  }
  if (type !== "tool_use" && type !== "tool_result") return noMessage(type);
  const callId = event.text("tool_id");
  if (type === "tool_use") {
    return turnOf(
      { type: "call", callId, toolName: event.text("tool_name"), input: event.get("parameters") ?? {} },
      {},
    );
  }
  const output = event.get("output") ?? event.maybeFields("error")?.text("message") ?? "";
  const failed = event.maybeText("status") === "error";
  return turnOf({ type: "result", callId, toolName: null, output, failed }, { isAnswer: true });
}

/** Returns one conversation. Throws `import_failed`. */
export function* readGemini(items: readonly Item[]): Slices<Chat[]> {
  const turns = joinReplies(yield* readEach(items, readEvent, "gemini-cli"));
  return [{ label: null, turns }];
}
