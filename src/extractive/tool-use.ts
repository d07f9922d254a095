/**
 * Reads the tool calls of a conversation: files touched, changes made, errors and the reaction to them.
 *
 * Calls and results in, slices of them out. Tools are recognized by their names and arguments, without a list of one
 * product's tools. So it reads a booking desk as well as a coding agent.
 */
import { clip, wordCount, type Add } from "./bullet.ts";
import { isNarration } from "../steps/text/cues.ts";
import type { Entry } from "./entries.ts";
import { splitSentences } from "../steps/text/sentences.ts";
import { oneLine } from "../steps/draft/summary-shape.ts";

const PATH_KEYS =
  /"(?:path|file_?path|filePath|file|filename|target_file|notebook_path|absolute_path)"\s*:\s*"([^"\\]{1,240})"/g;
const COMMAND_KEYS = /"(?:command|cmd|script)"\s*:\s*"((?:[^"\\]|\\.){1,4000})"/;
const COMMIT_MESSAGE =
  /\bgit commit\b[^"'\n]{0,200}-\w*m\s+\\?["'](?:\$\(cat <<-?\s?\\?["']?\w+\\?["']?\\n)?((?:[^"'\\]|\\[^"]){3,300})/;
const READS = /^(?:read|view|cat|open|get|show|head|tail|list|ls|find|search|grep|glob|fetch)/i;
const CREATES = /^(?:write|create|new|save)/i;
const EDITS = /^(?:edit|str_?replace|replace|patch|apply|update|modify|insert|multi_?edit|append)/i;
const DELETES = /^(?:delete|remove|rm|unlink)/i;
const CHANGES =
  /^(?:(?:\w+[.:-])?(?:book|cancel|create|update|modify|delete|remove|add|set|send|submit|transfer|refund|issue|pay|charge|order|return|exchange|schedule|assign|close|reopen|merge|deploy|publish|move|rename))(?:_|[A-Z]|$)/;
const FAILED_LEAD =
  /^\s*(?:\w*Error\b|error\b|fatal\b|traceback\b|exception\b|panic\b|Command (?:failed|exited)|not found\b|permission denied)/i;
const FAILED_TAIL = /(?:exited with code|exit code:?|exit status:?) [1-9]\d*|\bnpm ERR!|\bFAILED\b|error TS\d{4}/;
const ERROR_LINE =
  /\berror\b\s?[:T[(]|\b\w+(?:Error|Exception)\b|\bfatal:|\bE[A-Z]{4,}\b|\bfailed\b|\bcannot\b|not found|denied|exited with code/i;
/** Characters read of a long result, from each end. */
const RESULT_EDGE = 1_500;
/** An error line shorter than this many characters does not tell what failed. */
const SHORT_ERROR = 40;
/** Longest description of a call's input, in characters. */
const MAX_CALL = 100;
/** How many entries after an error are searched for its remedy. */
const LOOK_AHEAD = 6;

type CallEvent = Extract<Entry, { kind: "call" }>;

interface Use {
  readonly call: CallEvent;
  readonly at: number;
  /** Null while there is no result. */
  readonly result: { readonly output: string; readonly at: number; readonly failed: boolean } | null;
}

/** Adds the bullets of the tool calls in `entries`. */
export function readToolUse(entries: readonly Entry[], add: Add): void {
  const uses = pairUp(entries);
  readFiles(uses, add);
  const passedLast = new Map<string, number>();
  for (const { call, result } of uses) if (result?.failed === false) passedLast.set(what(call), result.at);
  for (const use of uses) {
    const { call, at, result } = use;
    if (result === null) continue;
    if (!result.failed) {
      readChange(call, { at: result.at, also: [at] }, add);
      continue;
    }
    const passed = (passedLast.get(what(call)) ?? -1) > result.at;
    const next = nextMove(entries, result.at);
    const then = next === null ? "" : ` → ${next.text}`;
    const also = next === null ? [at] : [at, next.at];
    const text = `${errorLine(result.output, call)}${then}${passed ? " (passed later)" : ""}`;
    add("errors", text, { at: result.at, also, weight: passed ? 0.7 : 0.9 });
  }
}

/** Pairs every call with the first later result of its id, because some tools restart their numbering. */
function pairUp(entries: readonly Entry[]): Use[] {
  const uses: Use[] = [];
  const open = new Map<string, number>();
  entries.forEach((entry, at) => {
    if (entry.kind === "call") open.set(entry.id, uses.push({ call: entry, at, result: null }) - 1);
    if (entry.kind !== "result") return;
    const place = open.get(entry.id);
    const use = place === undefined ? undefined : uses[place];
    if (place === undefined || use === undefined) return;
    open.delete(entry.id);
    uses[place] = { ...use, result: { output: entry.output, at, failed: hasFailed(entry, use.call) } };
  });
  return uses;
}

/** A call in a few words, which are its tool with its command, its file or the beginning of its input. */
export function describeCall({ tool, input }: Pick<CallEvent, "tool" | "input">): string {
  const command = COMMAND_KEYS.exec(input)?.[1]?.split("\\n")[0];
  const [path] = [...input.matchAll(PATH_KEYS)].map(([, each]) => each);
  return `${tool} (${clip(oneLine(command ?? path ?? input), MAX_CALL)})`;
}

/** The subject of a call, to recognize another try of the same call. */
function what(call: CallEvent): string {
  return `${call.tool} ${call.input}`;
}

function hasFailed(result: Extract<Entry, { kind: "result" }>, call: CallEvent): boolean {
  if (result.failed || FAILED_LEAD.test(result.output.slice(0, 200))) return true;
  return !READS.test(call.tool) && FAILED_TAIL.test(edges(result.output));
}

function edges(text: string): string {
  return text.length <= RESULT_EDGE * 2 ? text : `${text.slice(0, RESULT_EDGE)}\n${text.slice(-RESULT_EDGE)}`;
}

/** The line that names the error, with its call when the line alone says little. */
function errorLine(output: string, call: CallEvent): string {
  const lines = edges(output)
    .split("\n")
    .map((line) => oneLine(line))
    .filter((line) => /\w/.test(line));
  const line = lines.find((each) => ERROR_LINE.test(each)) ?? lines[0];
  const asked = clip(oneLine(what(call)), 100);
  if (line === undefined) return `Failed: ${asked}`;
  return line.length >= SHORT_ERROR ? clip(line, 160) : `${line} (${asked})`;
}

/** The assistant's next statement or action after the error. */
function nextMove(entries: readonly Entry[], after: number): { text: string; at: number } | null {
  for (const [place, entry] of entries.slice(after + 1, after + 1 + LOOK_AHEAD).entries()) {
    const at = after + 1 + place;
    if (entry.kind === "said" && entry.by === "user") return null;
    if (entry.kind === "said") {
      const sentences = splitSentences(entry.text).map((sentence) => sentence.text);
      const telling = sentences.find((text) => wordCount(text) >= 4 && !isNarration(text)) ?? sentences[0];
      if (telling !== undefined) return { text: clip(telling, 140), at };
    } else if (entry.kind === "call") return { text: clip(oneLine(`${entry.tool} ${entry.input}`), 100), at };
  }
  return null;
}

type Operation = "created" | "edited" | "deleted" | "read";

function readFiles(uses: readonly Use[], add: Add): void {
  const files = new Map<string, { times: Map<Operation, number>; at: number }>();
  for (const { call, at, result } of uses) {
    const operation = operationOf(call.tool);
    if (operation === null || result?.failed === true) continue;
    for (const [, path] of call.input.matchAll(PATH_KEYS)) {
      if (path === undefined || !/[./]/.test(path)) continue;
      if (operation === "read" && !/\.\w+$/.test(path)) continue;
      const file = files.get(path) ?? { times: new Map<Operation, number>(), at };
      file.times.set(operation, (file.times.get(operation) ?? 0) + 1);
      files.set(path, { ...file, at });
    }
  }
  for (const [path, { times, at }] of files) {
    const changed = [...times.keys()].some((operation) => operation !== "read");
    add("files", `${path} (${describeOperations(times)})`, { at, weight: changed ? 1.5 : 0 });
  }
}

function operationOf(tool: string): Operation | null {
  if (DELETES.test(tool)) return "deleted";
  if (CREATES.test(tool)) return "created";
  if (EDITS.test(tool)) return "edited";
  return READS.test(tool) ? "read" : null;
}

/** Operations in the order of first use, such as `read, edited ×3`. */
export function describeOperations(times: ReadonlyMap<string, number>): string {
  return [...times].map(([operation, count]) => (count === 1 ? operation : `${operation} ×${count}`)).join(", ");
}

/** A change outside the files, such as a commit, a booking or a sent message. */
function readChange(call: CallEvent, place: { at: number; also: readonly number[] }, add: Add): void {
  const command = COMMAND_KEYS.exec(call.input)?.[1];
  const message = command === undefined ? undefined : COMMIT_MESSAGE.exec(command)?.[1];
  if (message !== undefined) {
    add("done", message.split("\\n")[0] ?? message, { ...place, weight: 1, label: "Committed: " });
  } else if (CHANGES.test(call.tool) && !call.input.match(PATH_KEYS)) {
    add("done", `${call.tool} ${call.input}`, { ...place, weight: 1, label: "Called: " });
  }
}
