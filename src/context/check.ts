/**
 * Checks the text and the key of a write to a block.
 *
 * Each check precedes the write and names the limit. No text is shortened silently to fit.
 */
import { PalimpsestError } from "../errors.ts";
import { MAX_BLOCK_BYTES, MAX_ENTRY_KEY_CHARS } from "../limits.ts";
import type { Declared } from "./declared.ts";
import { renderFill, type ContextBlock } from "./render.ts";

/** A block's next text, with the block from which it was made. */
export interface Rewrite {
  readonly content: string;
  readonly before: ContextBlock | null;
}

/** Throws `block_full`. */
export function checkSize(
  { config, shape }: Pick<Declared, "config" | "shape">,
  { content, before, tokens }: Rewrite & { readonly tokens: number },
): void {
  const { label, maxTokens } = config;
  if (maxTokens !== undefined && tokens > maxTokens) {
    const holds =
      before === null ? "" : ` It holds ${before.content === "" ? "nothing" : renderFill(before.tokens, maxTokens)}.`;
    const what = shape.keyed ? "An entry of block" : "Block";
    const advice =
      before === null
        ? "Write a shorter text"
        : "Add less, or replace the whole text with a shorter one that keeps what still matters";
    throw new PalimpsestError(
      "block_full",
      `${what} "${label}" would be at ${renderFill(tokens, maxTokens)}.${holds} Nothing was written. ${advice}.`,
    );
  }
  if (new TextEncoder().encode(content).length > MAX_BLOCK_BYTES) {
    throw new PalimpsestError(
      "block_full",
      `A text in block "${label}" may take ${MAX_BLOCK_BYTES} bytes. Nothing was written. Write a shorter text.`,
    );
  }
}

/** Throws `invalid_input`. */
export function checkText(text: unknown): void {
  if (typeof text === "string" && text.isWellFormed()) return;
  const what = typeof text === "string" ? "holds half a character" : `is of type ${typeof text}`;
  throw new PalimpsestError("invalid_input", `This ${what}. Give a well-formed text.`);
}

/** Throws `invalid_input`. */
export function checkKey(key: unknown): void {
  if (typeof key === "string" && key.length <= MAX_ENTRY_KEY_CHARS && key.isWellFormed() && /^[^\p{Cc}]+$/u.test(key))
    return;
  throw new PalimpsestError("invalid_input", `A key is 1 to ${MAX_ENTRY_KEY_CHARS} characters in one line.`);
}
