/**
 * Renders blocks as the text of a system prompt, and finds the sections of a prompt.
 *
 * It is pure, and the format is the Agents SDK's. A heavy rule inside a block's text is replaced by a light one. A heavy rule therefore
 * always belongs to a header, and no stored text can pass for another block.
 */
import type { BlockKind } from "./provider.ts";

const RULE = "═".repeat(46);
const LIGHT_RULE = "─".repeat(46);
const BREAK = `\n\n${RULE}\n`;

const REMINDER =
  "The following blocks have changed since the system prompt was written. What stands here replaces what stands there.";

const UNAVAILABLE = "(This block could not be read just now. Do not take it for empty, and go on without it.)";

const STALE = "These blocks could not be read just now; what the system prompt says of them may be out of date";

/** A block in its current state. `tokens` is an estimate of its content. */
export interface ContextBlock {
  /** The name of the block, unique in its session. */
  readonly label: string;
  /** Its purpose, in a line. */
  readonly description?: string;
  /** Its text as it is now. */
  readonly content: string;
  /** Estimated tokens of the text. */
  readonly tokens: number;
  /** Limit of the content, or of one entry where the block is keyed (searchable or loadable). */
  readonly maxTokens?: number;
  /** What its provider can do. */
  readonly kind: BlockKind;
  /** Whether the model may write it. */
  readonly writable: boolean;
  /** True for a block of `whenChanged: "remind"`. It has a section even when it is read-only and empty. */
  readonly remind: boolean;
}

/** A block for a prompt, either in its current state or marked as unreadable. */
export interface ReadBlock extends ContextBlock {
  readonly unavailable?: boolean;
}

/** Renders the prompt. Empty read-only blocks are left out. Other empty blocks are shown, so that the model knows them. */
export function renderPrompt(blocks: readonly ReadBlock[]): string {
  return blocks.filter(isShown).map(renderSection).join("\n\n");
}

/** Returns the sections of the remind blocks that `prompt` lacks, and the names of unreadable ones. Null when there are neither. */
export function renderReminder(prompt: string, blocks: readonly ReadBlock[]): string | null {
  const shown = new Set(`\n\n${prompt}`.split(BREAK));
  const reminding = blocks.filter((block) => block.remind);
  const changed = reminding.filter((block) => block.unavailable !== true).map(renderSection);
  const missing = changed.filter((section) => !shown.has(section.slice(RULE.length + 1)));
  const silent = reminding.filter((block) => block.unavailable === true).map((block) => block.label.toUpperCase());
  const lines = missing.length === 0 ? [] : [REMINDER, ...missing];
  if (silent.length > 0) lines.push(`${STALE}: ${silent.join(", ")}.`);
  return lines.length === 0 ? null : lines.join("\n\n");
}

export function renderSection(block: ReadBlock): string {
  if (block.unavailable === true)
    return `${RULE}\n${block.label.toUpperCase()} [${block.kind}]\n${RULE}\n${UNAVAILABLE}`;
  const description = block.description === undefined ? "" : ` (${plainLine(block.description)})`;
  const full = block.maxTokens === undefined || isKeyed(block) ? "" : ` [${renderFill(block.tokens, block.maxTokens)}]`;
  const header = `${block.label.toUpperCase()}${description}${full} [${block.kind}]`;
  return `${RULE}\n${header}\n${RULE}\n${block.content.replaceAll(RULE, LIGHT_RULE)}`;
}

/** Renders the fill of a block, such as `45% — 495/1100 tokens`. */
export function renderFill(tokens: number, maxTokens: number): string {
  return `${Math.round((100 * tokens) / maxTokens)}% — ${tokens}/${maxTokens} tokens`;
}

export function plainLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(RULE, LIGHT_RULE).trim();
}

function isKeyed(block: ContextBlock): boolean {
  return block.kind === "searchable" || block.kind === "loadable";
}

function isShown(block: ReadBlock): boolean {
  return block.content !== "" || block.remind || block.unavailable === true || block.kind !== "readonly";
}
