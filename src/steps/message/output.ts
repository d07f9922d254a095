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
/** A field by which tools report that they failed, in an object as JSON without spaces, before anything that is inside another field. */
const FIELD_TELLS_ERROR =
  /^\{[^[{]*?"(?:(?:ok|success|applied|approved|accepted)":false|(?:is_?error|timed_?out|errors?)":(?:true|"[^"]|[[{][^\]}])|status(?:_?code)?":(?:"(?:error|fail|reject|denied|cancel)|[45]\d\d\b)|(?:exit_?(?:code|status)|return_?code)":"?-?[1-9]|type":"error-)/i;
/** What the first line of an answer says of a change: that it was made, what puts that in doubt, and that a file or a person did not let it. */
const DONE =
  /(?<!\b(?:not|n['’]t|never) (?:been |be |yet )?)\b(?:ok|true|done|success\w*|(?:over)?written|wrote|(?:updat|creat|sav|edit|replac|insert|add|delet|remov|mov|renam|approv)ed|applied)\b/i;
const DOUBT =
  /\b(?:no|nothing|not|cannot|0|would|dry.?run|preview|draft|proposed|false|pending|waiting|await\w*|skip\w*|conflict|fail\w*|error|unable|un\w+ed|dis\w+ed|reject\w*|declin\w*|cancel\w*|denied|block\w*|roll\w*|revert\w*)\b|n['’]t\b/i;
const UNREAD =
  /no such (?:file|dir)|not (?:be )?found|no (?:match|replacement)|(?:not|n['’]t) exist|permission denied|\be(?:noent|acces|perm|isdir)\b|is a directory|unchanged since/i;
const PERSON = /\buser\b.{0,40}?(?:reject|declin|denied|cancel|n['’]t want to)|ed by (?:the )?user/i;
/** A file's heading rather than an error, where more lines follow. */
const HEADING = /^(?:#|(?:error|exception|failure|panic)s? [^:\n]*\n)/i;
/** A longer text is no report. */
const MAX_REPORT_CHARS = 600;
/** Words that are paths, and fields without a value. */
const NO_WORDS = /"\w+":\s*(?:null|false|0|""|\[\])|[^\s"'`,;:(){}[\]]*\/[^\s"'`,;:(){}[\]]*/g;
const HEAD_CHARS = 200;
/** Longer than any word of a field that reports a failure. */
const WORD_CHARS = 12;
/** Fields in which one tool passes on the answer of another. */
const PASSED_ON = ["result", "output", "response", "data", "value"] as const;
/** The types of the items in a list of contents, as the AI SDK and MCP name them. */
const CONTENT_TYPE = /^(?:text|image|audio|media|file|custom|resource|resource_link|(?:image|file)-[\w-]+)$/;

/** Whether a tool's output reports that the tool failed, in a form that many tools have. */
export function tellsError(output: unknown): boolean {
  if (typeof output === "string") {
    const head = output.slice(0, HEAD_CHARS);
    return TELLS_ERROR.test(head) || FIELD_TELLS_ERROR.test(head.replaceAll(/\s/g, ""));
  }
  if (typeof output !== "object" || output === null) return false;
  const answer = contentOf(output)?.list.find(({ text }) => text !== undefined)?.text;
  if ((answer !== undefined && tellsError(answer)) || hasErrorField(output)) return true;
  return PASSED_ON.some((key) => tellsError(objectIn(output, key)));
}

/** Whether a field of an output reports a failure, whatever its texts say. */
export function hasErrorField(output: unknown): boolean {
  if (typeof output !== "object" || output === null || Array.isArray(output)) return false;
  const fields = output as Record<string, unknown>;
  // As of Node's processes. Elsewhere a code may mean anything.
  if (Object.entries(fields).some(endedBadly) || ("stderr" in fields && Number(fields["code"]) > 0)) return true;
  return PASSED_ON.some((key) => hasErrorField(fields[key]));
}

function objectIn(output: object, key: string): unknown {
  const value: unknown = Array.isArray(output) ? null : (output as Record<string, unknown>)[key];
  return typeof value === "object" ? value : null;
}

/** Whether an answer plainly says that a change was made, or that it was not. The words of `paths` say nothing. */
export function changeResult(answer: string, paths: readonly string[]): "made" | "refused" | "unclear" {
  if (answer.trim() === "") return "made";
  const names = paths.flatMap((path) => [path, path.slice(path.lastIndexOf("/") + 1)]).filter((name) => name !== "");
  const line = names.reduce((text, name) => text.replaceAll(name, ""), firstLine(answer)).replaceAll(NO_WORDS, "");
  if (DONE.test(line)) return DOUBT.test(line) ? "unclear" : "made";
  return UNREAD.test(line) || PERSON.test(line) || tellsError(answer) ? "refused" : "unclear";
}

/** Whether an answer is the text that was asked for. Only one short line may report instead that a file was not read. */
export function readResult(answer: string): "text" | "unread" | "doubted" {
  const isLine = answer.length <= MAX_REPORT_CHARS && !answer.trim().includes("\n");
  if (isLine && UNREAD.test(answer)) return "unread";
  return (isLine && PERSON.test(answer)) || (tellsError(answer) && !HEADING.test(answer)) ? "doubted" : "text";
}

function firstLine(answer: string): string {
  return answer.trimStart().slice(0, HEAD_CHARS).split("\n", 1)[0] ?? "";
}

function endedBadly([field, value]: [string, unknown]): boolean {
  const isFilled = typeof value === "object" && value !== null && Object.keys(value).length > 0;
  const answer = typeof value === "string" ? `"${value.slice(0, WORD_CHARS)}` : String(isFilled || value);
  return FIELD_TELLS_ERROR.test(`{"${field}":${answer}`);
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
