/** Chat-completions messages, as most providers and benchmarks write them. */
import { z } from "zod";
import { content, filePiece, reasoningPiece, textPiece, toolOutput, unknownBlock } from "./blocks.ts";
import { choose, list } from "./items.ts";
import type { TurnPiece, ImportedTurn } from "./turns.ts";

const text = z.object({ text: z.string() }).transform((block) => textPiece(block.text));
const refusal = z.object({ refusal: z.string() }).transform((block) => textPiece(block.refusal));
const image = z
  .object({ image_url: z.object({ url: z.url() }) })
  .transform((block) => filePiece(mediaTypeOf(block.image_url.url), block.image_url));
const blocks = new Map<string, z.ZodType<TurnPiece>>([
  ["text", text],
  ["refusal", refusal],
  ["image_url", image],
]);

const call = z
  .object({
    id: z.string(),
    function: z.object({ name: z.string(), arguments: z.string().nullish() }).optional(),
    custom: z.object({ name: z.string(), input: z.string() }).optional(),
  })
  .transform((value, context): TurnPiece => {
    if (value.function !== undefined) {
      const { name, arguments: input } = value.function;
      return { kind: "call", callId: value.id, toolName: name, input: parseArguments(input ?? "") };
    }
    if (value.custom !== undefined) {
      return { kind: "call", callId: value.id, toolName: value.custom.name, input: value.custom.input };
    }
    context.addIssue({ code: "custom", path: ["function"], message: "is missing: the call names no tool" });
    return z.NEVER;
  });

const message = z.object({
  id: z.string().nullish(),
  content: content(choose("type", (type) => blocks.get(type) ?? unknownBlock)),
});

const assistant = message
  .extend({
    reasoning_content: z.string().nullish(),
    refusal: z.string().nullish(),
    tool_calls: list(call).nullish(),
  })
  .transform((value): ImportedTurn => {
    const pieces = [
      ...(value.reasoning_content ? [reasoningPiece(value.reasoning_content)] : []),
      ...value.content,
      ...(value.refusal ? [textPiece(value.refusal)] : []),
      ...(value.tool_calls ?? []),
    ];
    return { role: "assistant", pieces, id: value.id ?? null, metadata: {} };
  });

const tool = z
  .object({ tool_call_id: z.string(), name: z.string().nullish(), content: toolOutput })
  .transform((value): ImportedTurn => {
    const { tool_call_id: callId, name, content: output } = value;
    const result: TurnPiece = { kind: "result", callId, toolName: name ?? null, output, failed: false };
    return { role: "user", pieces: [result], id: null, metadata: {} };
  });

function textOnly(role: "system" | "user") {
  return message.transform((value): ImportedTurn => ({
    role,
    pieces: value.content,
    id: value.id ?? null,
    metadata: {},
  }));
}

const roles = new Map<string, z.ZodType<ImportedTurn>>([
  ["system", textOnly("system")],
  ["developer", textOnly("system")],
  ["user", textOnly("user")],
  ["assistant", assistant],
  ["tool", tool],
]);

export const openAiMessage = choose("role", (role) => {
  return (
    roles.get(role) ?? z.custom<ImportedTurn>(() => false, `unknown role; known are ${[...roles.keys()].join(", ")}`)
  );
});

/** Parses the arguments that the model wrote. Models sometimes break JSON off, and the text itself is then the input. */
function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function mediaTypeOf(url: string): string {
  return /^data:([^;,]+)/.exec(url)?.[1] ?? "image";
}
