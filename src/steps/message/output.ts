/**
 * Reads what a tool's output says, in the shapes of the AI SDK and of MCP: whether it reports a failure, its list of
 * contents, and its text.
 *
 * An output in, an answer out. Any value is safe, because every field is checked before it is used.
 */
import { jsonText } from "./tool-parts.ts";

/** The beginning of an output that reports an error as text. */
const TELLS_ERROR =
  /^\W*(?:\w*(?:error|exception)\b|traceback|fatal|fail(?:ed|ure)?\b|panic|npm err!|(?:(?:command|process) )?(?:failed|exit(?:ed)?(?: with)?(?: code| status)?:? [1-9]))/i;
/** The same at the beginning of an object that is JSON as a text. */
const JSON_TELLS_ERROR =
  /^\s*\{[^[{]*?"(?:(?:ok|success)"\s*:\s*false|is_?error"\s*:\s*true|status"\s*:\s*"(?:error|failed|failure)"|exit_?code"\s*:\s*-?[1-9]|error"\s*:\s*(?:"[^"]|\{))/i;
const TOLD_CHARS = 200;
const isTrue = (value: unknown): boolean => value === true;
const isFalse = (value: unknown): boolean => value === false;
const isNotZero = (value: unknown): boolean => Math.abs(Number(value)) > 0;
const isTold = (value: unknown): boolean =>
  value === true || (typeof value === "object" ? value !== null : typeof value === "string" && value !== "");
/** Fields by which a tool reports how it ended, in small letters without `_`, with the values that report a failure. */
const ENDED_BADLY: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["iserror", isTrue],
  ["timedout", isTrue],
  ["ok", isFalse],
  ["success", isFalse],
  ["error", isTold],
  ["errors", (value) => Array.isArray(value) && value.length > 0],
  ["exitcode", isNotZero],
  ["exitstatus", isNotZero],
  ["returncode", isNotZero],
  ["statuscode", (value) => Number(value) >= 400],
  [
    "status",
    (value) => Number(value) >= 400 || (typeof value === "string" && /^(?:error|failed|failure)$/i.test(value)),
  ],
  ["type", (value) => value === "error-text" || value === "error-json"],
]);
/** Fields in which one tool passes on the answer of another. */
const PASSED_ON = ["result", "output", "response", "data", "value"] as const;
/** The types of the items in a list of contents, as the AI SDK and MCP name them. */
const CONTENT_TYPE = /^(?:text|image|audio|media|file|custom|resource|resource_link|(?:image|file)-[\w-]+)$/;

/** Whether a tool's output reports that the tool failed, in a form that many tools have. */
export function tellsError(output: unknown): boolean {
  if (typeof output === "string") {
    const told = output.slice(0, TOLD_CHARS);
    return TELLS_ERROR.test(told) || JSON_TELLS_ERROR.test(told);
  }
  if (typeof output !== "object" || output === null) return false;
  const content = contentOf(output);
  const said = content?.list.find(({ text }) => text !== undefined)?.text;
  if (said !== undefined && tellsError(said)) return true;
  if (Array.isArray(output)) return false;
  const fields = output as Record<string, unknown>;
  // As of Node's processes. Elsewhere a code may mean anything.
  if (Object.entries(fields).some(endedBadly) || ("stderr" in fields && isNotZero(fields["code"]))) return true;
  return PASSED_ON.some((key) => typeof fields[key] === "object" && tellsError(fields[key]));
}

function endedBadly([field, value]: [string, unknown]): boolean {
  return ENDED_BADLY.get(field.toLowerCase().replaceAll("_", ""))?.(value) === true;
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
