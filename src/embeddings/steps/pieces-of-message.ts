/**
 * Takes from a message the pieces that an embedding model reads: what a user or the agent wrote, in a few passages each.
 *
 * What tools were asked and answered is left out. It is long, and words find it. A piece consists of whole passages of an answer
 * (src/recall/steps/passages.ts), so that a piece that is found says which passages to quote.
 */
import type { UIMessage } from "ai";
import { cutMessage, type MessageBlocks, type Passage } from "../../recall/steps/passages.ts";

/** Characters of a piece, which the smallest windows of embedding models hold. A passage that crosses the end is in it. */
export const PIECE_CHARS = 1_000;
/** Most pieces of a message. Of a longer one the first and the last are kept, because the end tells the result. */
export const MAX_PIECES = 4;

/** One piece, as its passages. */
export type EmbeddedText = readonly Passage[];

/** The pieces of a cut message, in order. */
export function piecesOf({ blocks, passages }: Pick<MessageBlocks, "blocks" | "passages">): EmbeddedText[] {
  const pieces: Passage[][] = [];
  let chars = PIECE_CHARS;
  for (const passage of passages) {
    if (blocks[passage.block]?.kind !== "text") continue;
    if (chars >= PIECE_CHARS) {
      pieces.push([]);
      chars = 0;
    }
    pieces.at(-1)?.push(passage);
    chars += passage.text.length;
  }
  return pieces.length <= MAX_PIECES ? pieces : [...pieces.slice(0, MAX_PIECES - 1), ...pieces.slice(-1)];
}

/** The texts of a message's pieces. Empty for a message in which nothing was written. */
export function pieceTexts(message: UIMessage): string[] {
  const written = { ...message, parts: message.parts.filter(({ type }) => type === "text") };
  const texts = piecesOf(cutMessage({ seq: 0, message: written })).map((piece) =>
    piece.map(({ text }) => text).join(""),
  );
  return texts.map((text) => text.trim());
}
