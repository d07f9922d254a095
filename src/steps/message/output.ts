/**
 * Reads what a tool's output says, in the shapes of the AI SDK and of MCP: whether it reports a failure, its list of
 * contents, and its text.
 *
 * An output in, an answer out. Any value is safe, because every field is checked before it is used.
 */
import { jsonText } from "./tool-parts.ts";

/** The beginning of an output that reports an error as text. */
const TELLS_ERROR =
  /^\W*(?:\w*(?:error|exception)\b|traceback|fatal|failed|failure|panic|command failed|exit code [1-9])/i;
const TOLD_CHARS = 200;
/** The types of the items in a list of contents, as the AI SDK and MCP name them. */
const CONTENT_TYPE = /^(?:text|image|audio|media|file|custom|resource|resource_link|(?:image|file)-[\w-]+)$/;

/** Whether a tool's output reports that the tool failed. */
export function tellsError(output: unknown): boolean {
  if (typeof output === "string") return TELLS_ERROR.test(output.slice(0, TOLD_CHARS));
  if (typeof output !== "object" || output === null) return false;
  const { isError, error, exitCode, type } = output as Record<"isError" | "error" | "exitCode" | "type", unknown>;
  const isNamed = typeof error === "string" ? error !== "" : typeof error === "object" && error !== null;
  if (isError === true || isNamed || (typeof exitCode === "number" && exitCode !== 0)) return true;
  if (type === "error-text" || type === "error-json") return true;
  const [first] = contentOf(output)?.list ?? [];
  return first?.text !== undefined && tellsError(first.text);
}

interface Content {
  readonly type: string;
  readonly text?: unknown;
}

/** The list of contents in an output, under which key. Null for an output of another form. */
export function contentOf(
  output: object,
): { readonly key: "content" | "value" | null; readonly list: Content[] } | null {
  if (Array.isArray(output)) return isContent(output) ? { key: null, list: output } : null;
  const { type, value, content } = output as Record<"type" | "value" | "content", unknown>;
  if (type === "content" && isContent(value)) return { key: "value", list: value };
  return isContent(content) ? { key: "content", list: content } : null;
}

function isContent(value: unknown): value is Content[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((item: unknown) => CONTENT_TYPE.test(jsonText((item as { type?: unknown } | null)?.type)));
}

/** The text of an output: all texts of a list of contents, otherwise the longest text of an object. */
export function outputText(output: unknown): string {
  if (typeof output === "string") return output;
  if (typeof output !== "object" || output === null) return "";
  const { contents } = output as { contents?: unknown };
  const list: unknown = contentOf(output)?.list ?? contents;
  const texts = (Array.isArray(list) ? list.map((each: { text?: unknown } | null) => each?.text) : []).filter(isText);
  if (texts.length > 0) return texts.join("\n");
  return Object.values(output)
    .filter(isText)
    .reduce((longest, each) => (each.length > longest.length ? each : longest), "");
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
