/** Messages of a thread of the OpenAI Assistants API. It lists the newest first, and keeps a text one level deeper than other APIs. */
import { z } from "zod";
import { content, filePiece, mediaTypeOf, orUnknown, textPiece, unknownBlock } from "./blocks.ts";
import { readLists } from "./chats.ts";
import { choose, type Item } from "./items.ts";
import type { Slices } from "../steps/text/slices.ts";
import type { Chat, ImportedTurn, TurnPiece } from "./turns.ts";

const text = z.object({ text: z.object({ value: z.string() }) }).transform((block) => textPiece(block.text.value));
const refusal = z.object({ refusal: z.string() }).transform((block) => textPiece(block.refusal));
const image = z
  .object({ image_url: z.object({ url: z.url() }) })
  .transform((block) => filePiece(mediaTypeOf(block.image_url.url, "image"), block.image_url));
const blocks = new Map<string, z.ZodType<TurnPiece>>([
  ["text", orUnknown(text)],
  ["refusal", orUnknown(refusal)],
  ["image_url", orUnknown(image)],
]);

/** Milliseconds in the API's unit of time. */
const SECOND_MS = 1_000;

interface ThreadMessage {
  readonly createdAt: number;
  readonly turn: ImportedTurn;
}

const message = z
  .object({
    id: z.string().nullish(),
    created_at: z.number(),
    role: z.enum(["user", "assistant"]),
    content: content(choose("type", (type) => blocks.get(type) ?? unknownBlock)),
  })
  .transform((value): ThreadMessage => {
    const createdAt = value.created_at * SECOND_MS;
    const turn = { role: value.role, pieces: value.content, metadata: { createdAt }, id: value.id ?? null };
    return { createdAt, turn };
  });

/** Returns the conversations of `items` in the order of time. Throws `import_failed`. */
export function* readThreads(items: readonly Item[]): Slices<Chat[]> {
  const lists = yield* readLists(items, message, "openai-thread");
  return lists.map(({ label, values }) => {
    // Messages of one second keep their order, which in a list of the newest first is the other way round.
    const isReversed = (values[0]?.createdAt ?? 0) >= (values.at(-1)?.createdAt ?? 0);
    const ordered = isReversed ? values.toReversed() : values;
    return { label, turns: ordered.toSorted((a, b) => a.createdAt - b.createdAt).map(({ turn }) => turn) };
  });
}
