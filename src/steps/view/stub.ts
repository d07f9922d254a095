/**
 * Decides which tool outputs may be replaced by a stub, and how many tokens a stub counts.
 *
 * One part in, an answer out. mask.ts writes the stubs. Errors in any form stay whole, and so do outputs that the
 * provider produced, because it checks those when they come back.
 */
import { jsonText, toolPart, type Part } from "../message/tool-parts.ts";

/**
 * An output of fewer characters stays, because a stub would be as long. This is about a hundred tokens of Latin text.
 * The limit uses the length, so that no view has to count tokens.
 */
const LEAST_MASKED_CHARS = 350;
/** Tokens that a stub counts, for its sentence and its words. */
export const STUB_TOKENS = 70;
/** The beginning of an output that reports an error as text. */
const TELLS_ERROR =
  /^\W*(?:\w*(?:error|exception)\b|traceback|fatal|failed|failure|panic|command failed|exit code [1-9])/i;
const TOLD_CHARS = 200;
export function isMaskable(part: Part): boolean {
  return maskableText(part) !== null;
}

/** The output of a part that may be masked. Null for any other part. */
export function maskableText(part: Part): string | null {
  const tool = toolPart(part);
  if (tool?.state !== "output-available" || tool.providerExecuted === true || tellsError(tool.output)) return null;
  const text = jsonText(tool.output);
  return text.length < LEAST_MASKED_CHARS ? null : text;
}

/** Whether a tool's output reports that the tool failed. */
function tellsError(output: unknown): boolean {
  if (typeof output === "string") return TELLS_ERROR.test(output.slice(0, TOLD_CHARS));
  if (typeof output !== "object" || output === null) return false;
  const { isError, error, exitCode } = output as { isError?: unknown; error?: unknown; exitCode?: unknown };
  const isNamed = typeof error === "string" ? error !== "" : typeof error === "object" && error !== null;
  return isError === true || isNamed || (typeof exitCode === "number" && exitCode !== 0);
}

/** Replaces the output by a text. An object or a list keeps its type, because a tool's own `toModelOutput` may read it. */
export function withOutput(part: Part, text: string): Part {
  const tool = toolPart(part);
  if (tool?.state !== "output-available") return part;
  const { output } = tool;
  if (Array.isArray(output)) return { ...tool, output: [{ leftOut: text }] };
  return { ...tool, output: typeof output === "object" && output !== null ? { leftOut: text } : text };
}
