/**
 * Rollouts of the Codex CLI. A line holds an item of the Responses API, an event, or what a turn ran with.
 *
 * Events repeat what items say, so they are read only where a file has no items. The instruction file, the environment and the summary with
 * which Codex went on stand in the user's role and are marked in the metadata. The first versions wrote bare items.
 */
import { z } from "zod";
import { reasoningPiece, textPiece } from "./blocks.ts";
import { choose, isRecord, parseInside, parseItems, timestamp, type Item } from "./items.ts";
import { markHarness } from "./marks.ts";
import { responseItem, turnsOfDated, type Dated, type ResponseItem } from "./responses.ts";
import { isMessage } from "./shapes.ts";
import type { Slices } from "../steps/text/slices.ts";
import { noMessage, type Chat, type ImportedMetadata, type ImportedTurn, type ToolResult } from "./turns.ts";

type Line =
  | { readonly kind: "item"; readonly dated: Dated }
  | { readonly kind: "event"; readonly turn: ImportedTurn; readonly type: string }
  | { readonly kind: "summary"; readonly turn: ImportedTurn };

const dated = z.looseObject({ timestamp: timestamp.optional() });

const itemLine = dated.extend({ payload: responseItem }).transform((line): Line => {
  return { kind: "item", dated: { item: withPlainOutput(line.payload), metadata: dateOf(line) } };
});

const eventLine = dated
  .extend({
    payload: z.looseObject({ type: z.string(), message: z.unknown().optional(), text: z.unknown().optional() }),
  })
  .transform((line): Line => {
    const { type, message, text } = line.payload;
    const kind = `event ${type}`;
    const spoken = typeof message === "string" ? message : null;
    const turnOf = (role: "user" | "assistant", pieces: ImportedTurn["pieces"]): Line => {
      return { kind: "event", type: kind, turn: { role, pieces, metadata: dateOf(line), id: null } };
    };
    if (type === "user_message" && spoken !== null) return turnOf("user", [textPiece(spoken)]);
    if (type === "agent_message" && spoken !== null) return turnOf("assistant", [textPiece(spoken)]);
    if (type === "agent_reasoning" && typeof text === "string") return turnOf("assistant", [reasoningPiece(text)]);
    return { kind: "event", type: kind, turn: noMessage(kind) };
  });

/** Later versions keep a summary that only the provider can read, and no text. */
const compactedLine = dated
  .extend({ payload: z.looseObject({ message: z.string().nullish() }) })
  .transform((line): Line => {
    const text = line.payload.message ?? "";
    if (text === "") return otherOf("compacted");
    const metadata: ImportedMetadata = { ...dateOf(line), isCompactSummary: true };
    return { kind: "summary", turn: { role: "user", pieces: [textPiece(text)], metadata, id: null } };
  });

const otherLine = dated
  .extend({ type: z.string().optional() })
  .transform(({ type }): Line => otherOf(type ?? "header"));

function otherOf(type: string): Line {
  return { kind: "item", dated: { item: { kind: "other", type }, metadata: {} } };
}

const bareItem = responseItem.transform((item): Line => {
  return { kind: "item", dated: { item: withPlainOutput(item), metadata: {} } };
});

const enveloped = choose("type", (type): z.ZodType<Line> => {
  if (type === "response_item") return itemLine;
  if (type === "event_msg") return eventLine;
  return type === "compacted" ? compactedLine : otherLine;
});

const anyLine: z.ZodType<Line> = z.unknown().transform((value, context): Line => {
  const hasPayload = isRecord(value) && isRecord(value["payload"]);
  const schema = hasPayload ? enveloped : isMessage(value) || isTyped(value) ? bareItem : otherLine;
  return parseInside(schema, value, context);
});

function isTyped(value: unknown): boolean {
  return isRecord(value) && typeof value["type"] === "string";
}

function dateOf(line: { timestamp?: number | undefined }): ImportedMetadata {
  return line.timestamp === undefined ? {} : { createdAt: line.timestamp };
}

/** Codex wraps an output in JSON, with the exit code of the command. */
function withPlainOutput(item: ResponseItem): ResponseItem {
  return item.kind === "result" ? { kind: "result", result: plain(item.result) } : item;
}

const wrapped = z.object({ output: z.string(), metadata: z.looseObject({ exit_code: z.number().nullish() }) });

function plain(result: ToolResult): ToolResult {
  const { success, data } = wrapped.safeParse(jsonIn(result.output));
  if (!success) return result;
  const code = data.metadata.exit_code ?? 0;
  return { ...result, output: code === 0 ? data.output : `${data.output}\n(exit code ${code})` };
}

function jsonIn(output: unknown): unknown {
  if (typeof output !== "string" || !output.startsWith('{"')) return output;
  try {
    return JSON.parse(output);
  } catch {
    return output;
  }
}

/** Returns one conversation. Throws `import_failed`. */
export function* readCodex(items: readonly Item[]): Slices<Chat[]> {
  const lines = yield* parseItems(items, anyLine, "codex");
  const hasItems = lines.some((line) => line.kind === "item" && line.dated.item.kind === "said");
  const turns: ImportedTurn[] = [];
  let open: Dated[] = [];
  const close = (): void => {
    turns.push(...turnsOfDated(open));
    open = [];
  };
  for (const line of lines) {
    if (line.kind === "item") open.push(line.dated);
    else if (line.kind === "event" && hasItems) open.push({ item: { kind: "other", type: line.type }, metadata: {} });
    else {
      close();
      turns.push(line.turn);
    }
  }
  close();
  return [{ label: null, turns: turns.map(markHarness) }];
}
