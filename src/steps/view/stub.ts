/**
 * Which tool outputs may give way to a stub, and what a stub weighs.
 *
 * Boundary: one part in, an answer out; mask.ts writes the stubs. Left whole are errors, however a tool tells them, and what the
 * provider ran itself, which it checks when it comes back.
 */
import { jsonText, toolPart, type Part } from "../message/tool-parts.ts";

/**
 * An output of fewer characters stays: a stub would say as much. Some hundred tokens of Latin text; by its length, so that nobody has to
 * count it whenever a view is read.
 */
const LEAST_MASKED_CHARS = 350;
/** Tokens that a stub is counted as: its sentence, and its words. */
export const STUB_TOKENS = 70;
/** How an output begins that is an error, told as a text. */
const TELLS_ERROR =
  /^\W*(?:\w*(?:error|exception)\b|traceback|fatal|failed|failure|panic|command failed|exit code [1-9])/i;
const TOLD_CHARS = 200;
export function isMaskable(part: Part): boolean {
  return maskableText(part) !== null;
}

/** The output of a part that may give way; null for any other part. */
export function maskableText(part: Part): string | null {
  const tool = toolPart(part);
  if (tool?.state !== "output-available" || tool.providerExecuted === true || tellsError(tool.output)) return null;
  const text = jsonText(tool.output);
  return text.length < LEAST_MASKED_CHARS ? null : text;
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
