/**
 * Rollouts of the Codex CLI. A line holds an item of the Responses API, an event, or what a turn ran with.
 *
 * Events repeat what items say, so they are read only where a file has no items. The instruction file, the environment and the summary with
 * which Codex went on stand in the user's role and are marked in the metadata. The first versions wrote bare items.
 */
import type { Slices } from "../../steps/text/text.ts";
import { attempt, Fields, isRecord, Misfit, readEach, type Item } from "../items.ts";
import {
  metadataOf,
  noMessage,
  reasoningPart,
  textPart,
  type Chat,
  type ImportedTurn,
  type StreamTurn,
  type ToolResult,
} from "../turns.ts";
import { markHarness } from "./harness.ts";
import { isMessage } from "./lists.ts";
import { parseArguments } from "./openai.ts";
import { responseItem, turnsOf } from "./responses.ts";

interface Line {
  readonly turn: StreamTurn;
  /** The name of an event. */
  readonly event?: string;
}

function readLine(value: unknown): Line {
  const line = new Fields(value);
  const metadata = metadataOf({ createdAt: line.time("timestamp") });
  if (!isRecord(line.get("payload"))) {
    return { turn: isMessage(value) || line.has("type") ? itemTurn(line) : noMessage("header") };
  }
  const payload = line.fields("payload");
  const type = line.text("type");
  if (type === "response_item") return { turn: { ...itemTurn(payload), metadata } };
  if (type === "event_msg") return eventOf(payload, metadata);
  // Later versions keep a summary that only the provider can read, and no text.
  const summary = type === "compacted" ? (payload.maybeText("message") ?? "") : "";
  if (summary === "") return { turn: noMessage(type) };
  const turn = {
    role: "user",
    pieces: [textPart(summary)],
    metadata: { ...metadata, isCompactSummary: true },
    id: null,
  } as const;
  return { turn };
}

function eventOf(payload: Fields, metadata: ImportedTurn["metadata"]): Line {
  const type = payload.text("type");
  const event = `event ${type}`;
  const said = payload.get(type === "agent_reasoning" ? "text" : "message");
  const role = type === "user_message" ? "user" : type.startsWith("agent_") ? "assistant" : null;
  if (typeof said !== "string" || role === null || !SPOKEN.has(type)) return { event, turn: noMessage(event) };
  const piece = type === "agent_reasoning" ? reasoningPart(said) : textPart(said);
  return { event, turn: { role, pieces: [piece], metadata, id: null } };
}

const SPOKEN = new Set(["user_message", "agent_message", "agent_reasoning"]);

function itemTurn(item: Fields): StreamTurn {
  const turn = responseItem(item);
  return { ...turn, pieces: turn.pieces.map((piece) => (piece.type === "result" ? plain(piece) : piece)) };
}

/** Codex wraps an output in JSON, with the exit code of the command. */
function plain(result: ToolResult): ToolResult {
  const found = attempt(() => unwrap(result.output));
  return found instanceof Misfit ? result : { ...result, output: found };
}

function unwrap(output: unknown): string {
  if (typeof output !== "string" || !output.startsWith('{"')) throw new Misfit("is no wrapping");
  const wrapped = new Fields(parseArguments(output));
  const [plain, code] = [wrapped.text("output"), wrapped.fields("metadata").maybeNumber("exit_code") ?? 0];
  return code === 0 ? plain : `${plain}\n(exit code ${code})`;
}

/** Returns one conversation. Throws `import_failed`. */
export function* readCodex(items: readonly Item[]): Slices<Chat[]> {
  const lines = yield* readEach(items, readLine, "codex");
  const hasItems = lines.some(
    ({ turn, event }) => event === undefined && turn.role !== null && !turn.metadata.isCompactSummary,
  );
  const turns = lines.map(({ turn, event }) => (hasItems && event !== undefined ? noMessage(event) : turn));
  return [{ label: null, turns: (hasItems ? turnsOf(turns) : turns).map(markHarness) }];
}
