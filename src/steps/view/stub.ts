/**
 * Which tool outputs may give way to a stub, and what a stub weighs.
 *
 * Boundary: one part in, an answer out; mask.ts writes the stubs. Left whole are errors, however a tool tells them, and what the
 * provider ran itself, which it checks when it comes back.
 */
import { jsonText, toolPart, type Part } from "../message/tool-parts.ts";
import { estimateTokens } from "../tokens/tokens.ts";

/** An output of fewer tokens stays: a stub would say as much. */
export const LEAST_MASKED_TOKENS = 100;
/** Tokens that a stub is counted as: its sentence, and its words. */
export const STUB_TOKENS = 70;
/** How an output begins that is an error, told as a text. */
const TELLS_ERROR =
  /^\W*(?:\w*(?:error|exception)\b|traceback|fatal|failed|failure|panic|command failed|exit code [1-9])/i;
const TOLD_CHARS = 200;
/** Characters of an output by which it is told to be long enough. */
const JUDGED_CHARS = 2_000;

export function isMaskable(part: Part): boolean {
  return maskableText(part) !== null;
}

/**
 * The output of a part that may give way; null for any other part. Judged by the built-in estimate of its beginning alone, so
 * that no other counter changes what is shown, and none is asked whenever a view is read.
 */
export function maskableText(part: Part): string | null {
  const tool = toolPart(part);
  if (tool?.state !== "output-available" || tool.providerExecuted === true || tellsError(tool.output)) return null;
  const text = jsonText(tool.output);
  // A token is a character at least.
  if (text.length < LEAST_MASKED_TOKENS) return null;
  return estimateTokens(text.slice(0, JUDGED_CHARS)) > LEAST_MASKED_TOKENS ? text : null;
}

/** Whether a tool says by its output that it failed. */
function tellsError(output: unknown): boolean {
  if (typeof output === "string") return TELLS_ERROR.test(output.slice(0, TOLD_CHARS));
  if (typeof output !== "object" || output === null) return false;
  const { isError, error, exitCode } = output as { isError?: unknown; error?: unknown; exitCode?: unknown };
  const isNamed = typeof error === "string" ? error !== "" : typeof error === "object" && error !== null;
  return isError === true || isNamed || (typeof exitCode === "number" && exitCode !== 0);
}

/** What was an object or a list stays one: a tool's own `toModelOutput` may look into it. */
export function withOutput(part: Part, text: string): Part {
  const tool = toolPart(part);
  if (tool?.state !== "output-available") return part;
  const { output } = tool;
  if (Array.isArray(output)) return { ...tool, output: [{ leftOut: text }] };
  return { ...tool, output: typeof output === "object" && output !== null ? { leftOut: text } : text };
}
