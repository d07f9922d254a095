/** The stream that the Gemini CLI writes, one event a line. An answer comes in pieces, and calls and results are events of their own. */
import { z } from "zod";
import { stepPiece, textPiece } from "./blocks.ts";
import { choose, parseItems, timestamp, type Item } from "./items.ts";
import type { Slices } from "../steps/text/slices.ts";
import { noMessage, type Chat, type ImportedTurn, type TurnPiece } from "./turns.ts";

type Event =
  | { readonly kind: "said"; readonly role: "user" | "assistant"; readonly text: string; readonly at: number | null }
  | { readonly kind: "call" | "result"; readonly piece: TurnPiece; readonly at: number | null }
  | { readonly kind: "other"; readonly type: string };

const event = z.object({ type: z.string(), timestamp: timestamp.optional() });

const said = event
  .extend({ role: z.enum(["user", "assistant"]), content: z.string() })
  .transform((value): Event => ({ kind: "said", role: value.role, text: value.content, at: value.timestamp ?? null }));

const call = event
  .extend({ tool_name: z.string(), tool_id: z.string(), parameters: z.unknown().optional() })
  .transform((value): Event => {
    const { tool_name: toolName, tool_id: callId, parameters: input } = value;
    return { kind: "call", piece: { kind: "call", callId, toolName, input: input ?? {} }, at: value.timestamp ?? null };
  });

const result = event
  .extend({
    tool_id: z.string(),
    status: z.string().nullish(),
    output: z.unknown().optional(),
    error: z.object({ message: z.string() }).nullish(),
  })
  .transform((value): Event => {
    const output = value.output ?? value.error?.message ?? "";
    const failed = value.status === "error";
    const piece: TurnPiece = { kind: "result", callId: value.tool_id, toolName: null, output, failed };
    return { kind: "result", piece, at: value.timestamp ?? null };
  });

const other = event.transform(({ type }): Event => ({ kind: "other", type }));

const events = new Map<string, z.ZodType<Event>>([
  ["message", said],
  ["tool_use", call],
  ["tool_result", result],
]);
const anyEvent = choose("type", (type) => events.get(type) ?? other);

/** Returns one conversation. Throws `import_failed`. */
export function* readGemini(items: readonly Item[]): Slices<Chat[]> {
  const turns: (ImportedTurn | Reply)[] = [];
  let reply: Reply | null = null;
  for (const each of yield* parseItems(items, anyEvent, "gemini-cli")) {
    if (each.kind === "other") turns.push(noMessage(each.type));
    else if (each.kind === "said" && each.role === "user") {
      reply = null;
      const metadata = each.at === null ? {} : { createdAt: each.at };
      turns.push({ role: "user", pieces: [textPiece(each.text)], metadata, id: null });
    } else {
      if (reply === null) turns.push((reply = new Reply()));
      reply.add(each);
    }
  }
  return [{ label: null, turns: turns.map((turn) => (turn instanceof Reply ? turn.turn() : turn)) }];
}

/** One message of the assistant in the making. */
class Reply {
  readonly #pieces: TurnPiece[] = [];
  #text: string[] = [];
  #createdAt: number | null = null;
  /** True once a result came, which the model read before it went on. */
  #isAnswered = false;

  add(event: Exclude<Event, { kind: "other" }>): void {
    this.#createdAt ??= event.at;
    if (event.kind === "result") {
      this.#endText();
      this.#pieces.push(event.piece);
      this.#isAnswered = true;
      return;
    }
    if (this.#isAnswered) this.#pieces.push(stepPiece());
    this.#isAnswered = false;
    if (event.kind === "said") {
      this.#text.push(event.text);
      return;
    }
    this.#endText();
    this.#pieces.push(event.piece);
  }

  turn(): ImportedTurn {
    this.#endText();
    const metadata = this.#createdAt === null ? {} : { createdAt: this.#createdAt };
    return { role: "assistant", pieces: this.#pieces, metadata, id: null };
  }

  #endText(): void {
    const text = this.#text.join("");
    if (text !== "") this.#pieces.push(textPiece(text));
    this.#text = [];
  }
}
