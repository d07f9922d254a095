/**
 * Texts loaded into a conversation that hold until a newer one replaces them: instruction files and skills that a tool
 * read, the last state of the plan or task list, and calls without a result.
 *
 * Messages in, {@link Loaded} out, merged part by part, oldest first, and bounded. The texts are safe to quote, because
 * only a tool's input decides whether its text counts, never the text itself.
 */
import type { UIMessage } from "ai";
import { hasResult, jsonText, toolName, toolPart, type ToolPart } from "../message/tool-parts.ts";

/** One loaded text in its last state. */
export interface Loaded {
  readonly kind: "document" | "plan" | "call";
  /** Its key within its kind: a path, a skill's name or the call. */
  readonly name: string;
  /** Word for word. Empty where it is too long to keep, or where a later change could not be applied. */
  readonly text: string;
  /** The number of characters that it had. */
  readonly characters: number;
  readonly messageId: string;
  /** A change to a document that was read earlier. */
  readonly edit?: { readonly from: string; readonly to: string };
  /**
   * The tasks of a list that is reported task by task, with their texts and states. A text is empty where only the
   * state was reported.
   */
  readonly tasks?: readonly Task[];
}

export interface Task {
  readonly id: string;
  readonly text: string;
  readonly status: string;
}

/** Limits on all texts kept with a draft, in characters and in number. They exceed what any budget shows. */
const MAX_LOADED_CHARS = 100_000;
const MAX_LOADED = 30;
/** Most characters of an open call's input, and of a name. */
const MAX_CALL_CHARS = 2_000;
const MAX_NAME_CHARS = 200;
const MAX_TASKS = 100;

/** Instruction files for agents, by the names that tools look for. */
const INSTRUCTIONS =
  /(?:^|[\\/])(?:AGENTS(?:\.override)?|CLAUDE(?:\.local)?|GEMINI|QWEN|CRUSH|CONVENTIONS|SKILL|copilot-instructions)\.md$|(?:^|[\\/])\.(?:cursorrules|windsurfrules|clinerules|goosehints)$|[\\/]\.(?:cursor|clinerules|windsurf|roo|kiro)[\\/].+\.mdc?$|\.instructions\.md$/i;
/** A shell command that shows one file and does nothing else. */
const SHOWS_FILE = /^\s*(?:cat|type|Get-Content)\s+["']?([^\s"'|;&<>]+)["']?\s*$/;
const SKILL_TOOL = /^(?:load|read|use|get|activate|invoke)?_?skill$/i;
const LIST_TOOL = /^(?:todo_?write|write_?todos?|update_?plan|set_?plan|(?:manage|update)?_?todo_?list)$/i;
const PLAN_TOOL = /^exit_?plan_?mode$/i;
const TASK_MADE = /^task_?create$/i;
const TASK_CHANGED = /^task_?update$/i;
const TASK_NUMBER = /#(\d+)/;
/** A shorter answer only reports that a file or a skill was loaded. */
const LEAST_DOCUMENT_CHARS = 80;

/** Field names of a tool's input, as different tools call them. */
const PATHS = ["path", "file_path", "filePath", "file", "filename", "target_file", "absolute_path", "uri"];
const CONTENTS = ["content", "contents", "file_text", "new_content"];
const OLD = ["old_string", "old_str", "oldText", "oldString"];
const NEW = ["new_string", "new_str", "newText", "newString"];
const COMMANDS = ["command", "cmd"];
const LISTS = ["todos", "plan", "todoList", "items", "tasks"];
const TEXTS = ["content", "step", "task", "text", "title", "subject", "description"];
const NAMES = ["skill", "name", "skill_name", "skillName", "command", "id"];

const LIST_NAME = "list of tasks";
const PLAN_NAME = "plan";

type Fields = Readonly<Record<string, unknown>>;

export interface LoadedFrom {
  /** The id of the stored message behind the message of a view. */
  readonly messageId: string;
  /** Names calls as facts do. An open call is removed once the same call has a result. */
  readonly nameCall: (tool: ToolPart) => string;
}

/** The texts that a message loads, in order. */
export function readLoaded(message: UIMessage, { messageId, nameCall }: LoadedFrom): Loaded[] {
  return message.parts.flatMap((part) => {
    const tool = toolPart(part);
    if (tool === null) return [];
    const found = hasResult(tool) ? readTool(tool) : openCall(tool, nameCall);
    return found === null ? [] : [{ characters: found.text.length, messageId, ...found }];
  });
}

type Found = Pick<Loaded, "kind" | "name" | "text"> & Partial<Loaded>;

function readTool(tool: ToolPart): Found | null {
  const name = toolName(tool);
  if (tool.state !== "output-available") return null;
  const input = fieldsOf(tool.input);
  if (LIST_TOOL.test(name)) return readList(input, tool.output);
  if (PLAN_TOOL.test(name)) return asText("plan", PLAN_NAME, firstText(input, ["plan"]));
  if (TASK_MADE.test(name) || TASK_CHANGED.test(name)) return readTask(input, tool.output);
  if (SKILL_TOOL.test(name)) return asDocument(firstText(input, NAMES), saidBy(tool.output));
  return readFile(input, tool.output);
}

function openCall(tool: ToolPart, nameCall: LoadedFrom["nameCall"]): Found {
  const asked = callInput(tool.input);
  return { kind: "call", name: nameCall(tool), text: `${toolName(tool)} ${asked.slice(0, MAX_CALL_CHARS)}`.trim() };
}

/** The input as JSON. Empty when it is nested too deeply to be written. */
function callInput(input: unknown): string {
  try {
    return jsonText(input);
  } catch {
    return "";
  }
}

/** A tool's output as text. Of an object, its longest text field. */
function saidBy(output: unknown): string {
  if (typeof output === "string") return output;
  const texts = Object.values(fieldsOf(output)).filter((value) => typeof value === "string");
  return texts.toSorted((a, b) => b.length - a.length)[0] ?? "";
}

function readFile(input: Fields, output: unknown): Found | null {
  const path = firstText(input, PATHS) || (SHOWS_FILE.exec(firstText(input, COMMANDS))?.[1] ?? "");
  if (!INSTRUCTIONS.test(path)) return null;
  const written = firstText(input, CONTENTS);
  if (written !== "") return asDocument(path, written);
  const from = firstText(input, OLD);
  if (from === "") return asDocument(path, saidBy(output));
  return { kind: "document", name: nameOf(path), text: "", edit: { from, to: firstText(input, NEW) } };
}

function readList(input: Fields, output: unknown): Found | null {
  const list = LISTS.map((field) => input[field]).find(Array.isArray) as readonly unknown[] | undefined;
  if (list === undefined) {
    const told = firstText(input, LISTS) || (saidBy(output).includes("\n- [") ? saidBy(output) : "");
    return asText("plan", LIST_NAME, told);
  }
  const lines = list.flatMap((each) => {
    const fields = fieldsOf(each);
    const text = typeof each === "string" ? each : firstText(fields, TEXTS);
    return text === "" ? [] : [lineOf({ text, status: statusOf(fields) })];
  });
  return { kind: "plan", name: LIST_NAME, text: lines.join("\n") };
}

function readTask(input: Fields, output: unknown): Found | null {
  const id = firstText(input, ["taskId", "task_id", "id"]) || (TASK_NUMBER.exec(saidBy(output))?.[1] ?? "");
  if (id === "") return null;
  const tasks = [{ id, text: firstText(input, ["subject", "title"]), status: statusOf(input) }];
  return { kind: "plan", name: LIST_NAME, text: tellTasks(tasks), tasks };
}

function statusOf(fields: Fields): string {
  const { completed, done } = fields;
  return firstText(fields, ["status", "state"]) || (completed === true || done === true ? "completed" : "");
}

function lineOf({ text, status }: Omit<Task, "id">): string {
  return `- [${status || "pending"}] ${text}`;
}

function tellTasks(tasks: readonly Task[]): string {
  return tasks.flatMap((task) => (task.text === "" ? [] : [lineOf(task)])).join("\n");
}

function asDocument(name: string, text: string): Found | null {
  return name === "" || text.length < LEAST_DOCUMENT_CHARS ? null : asText("document", nameOf(name), text);
}

function asText(kind: Loaded["kind"], name: string, text: string): Found | null {
  return text.trim() === "" ? null : { kind, name, text };
}

function nameOf(name: string): string {
  return name.slice(-MAX_NAME_CHARS);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function firstText(fields: Fields, names: readonly string[]): string {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

/** The texts in force after both parts, oldest first: the newest version of each, without calls answered since. */
export function mergeLoaded(
  earlier: readonly Loaded[],
  later: readonly Loaded[],
  answered: ReadonlySet<string | undefined>,
): readonly Loaded[] {
  if (earlier.length + later.length === 0) return earlier;
  const standing = new Map<string, Loaded>();
  const open = earlier.filter(({ kind, name }) => kind !== "call" || !answered.has(name));
  for (const each of [...open, ...later]) {
    const key = keyOf(each);
    const before = standing.get(key);
    standing.delete(key);
    standing.set(key, before === undefined ? each : follow(before, each));
  }
  return bound([...standing.values()]);
}

export function keyOf({ kind, name }: Pick<Loaded, "kind" | "name">): string {
  return `${kind} ${name}`;
}

/** True for a full text, which is neither a change of a document nor a single task of a list. */
export function isWhole({ kind, edit, tasks }: Loaded): boolean {
  return kind !== "call" && edit === undefined && tasks === undefined;
}

function follow(before: Loaded, later: Loaded): Loaded {
  if (later.edit !== undefined) {
    const { from, to } = later.edit;
    if (!before.text.includes(from)) return later;
    // A function, because the new text may have marks with a meaning in a replacement string.
    const text = before.text.replace(from, () => to);
    return { kind: later.kind, name: later.name, text, characters: text.length, messageId: later.messageId };
  }
  if (later.tasks === undefined) return later;
  const tasks = new Map((before.tasks ?? []).map((task) => [task.id, task]));
  for (const { id, text, status } of later.tasks) {
    const known = tasks.get(id);
    tasks.set(id, { id, text: text || (known?.text ?? ""), status: status || (known?.status ?? "") });
  }
  const all = [...tasks.values()].slice(-MAX_TASKS);
  const text = tellTasks(all);
  return { ...later, tasks: all, text, characters: text.length };
}

/** The newest texts get room first. Others keep their name without the text. */
function bound(loaded: readonly Loaded[]): readonly Loaded[] {
  let room = MAX_LOADED_CHARS;
  return loaded
    .slice(-MAX_LOADED)
    .toReversed()
    .map((each) => {
      room -= each.text.length;
      return room >= 0 ? each : { ...each, text: "" };
    })
    .toReversed();
}
