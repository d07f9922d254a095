/**
 * Texts loaded into a conversation that hold until a newer one replaces them: instruction files and skills that a tool
 * read, the last state of the plan or task list, and calls without a result.
 *
 * Messages in, {@link Loaded} out, merged part by part, oldest first, and bounded. The texts are safe to quote, because
 * only a tool's input decides whether its text counts, never the text itself.
 */
import type { UIMessage } from "ai";
import { outputText, tellsError } from "../message/output.ts";
import { hasResult, isBareResult, jsonText, toolName, toolPart, type ToolPart } from "../message/tool-parts.ts";

/** The tools of context blocks, and the prefix of an answer that brought no text. */
export const LOAD_TOOL = "load_context";
const UNLOAD_TOOL = "unload_context";
export const NOT_DONE = "Not done. ";

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
  /** The id of an open call, because several may ask the same. */
  readonly callId?: string;
  /** Changes to a document that was read earlier, in order. Empty where a change could not be applied. */
  readonly edits?: readonly Edit[];
  /** The tasks of a list, with their texts and states. A text is empty where only the state was reported. */
  readonly tasks?: readonly Task[];
  /** Set where the tasks are all there are. Others change an earlier list. */
  readonly replaces?: true;
}

export interface Edit {
  readonly from: string;
  readonly to: string;
  /** Set where every place is changed. */
  readonly all?: true;
}

export interface Task {
  readonly id: string;
  readonly text: string;
  readonly status: string;
}

/** Limits on all texts kept with a draft, in characters and in number. They exceed what any budget shows. */
const MAX_LOADED_CHARS = 100_000;
const MAX_LOADED = 100;
/** Most characters of an open call's input, and of a name. */
const MAX_CALL_CHARS = 2_000;
const MAX_NAME_CHARS = 200;
const MAX_TASKS = 100;

/** Instruction files for agents, by the names that tools look for. */
const INSTRUCTIONS =
  /(?:^|[\\/])(?:AGENTS(?:\.override)?|CLAUDE(?:\.local)?|GEMINI|QWEN|CRUSH|CONVENTIONS|SKILL|copilot-instructions)\.md$|(?:^|[\\/])\.(?:cursorrules|windsurfrules|clinerules|goosehints)$|(?:^|[\\/])\.(?:cursor|clinerules|windsurf|roo|kiro|claude[\\/]rules)[\\/].+\.mdc?$|\.instructions\.md$/i;
/** A shell command that shows files and does nothing else. */
const SHOWS_FILE =
  /^\s*(?:cd\s+(?<folder>[^\s"'|;&<>]+)\s*(?:&&|;)\s*)?(?:(?:cat|bat|type|Get-Content)(?:\s+-\w+)*|sed\s+-n\s+["']?1,(?<last>\d+|\$)p["']?|head\s+-n?\s*(?<first>\d+))\s+(?:"(?<quoted>[^"]+)"|(?<path>[^\s"'|;&<>]+))(?:\s*2>\s*(?:\/dev\/null|&1))?(?:\s*\|\|\s*true)?\s*$/;
/** A part of a shell command that may change the files that it names. */
const CHANGES_FILES = /(?:^\s*(?:\*\*\*|(?:tee|rm|mv|sed\s+-i)\b)|>)(?<files>.*)$/;
/** Names of tools in small letters, without the name of their server and without marks. */
const SKILL_TOOL = /^(?:(?:load|read|use|get|activate|invoke|fetch|open|view)?skill|skills?(?:load|read|view|get))$/;
const LIST_TOOL =
  /todowrite$|^(?:(?:write|set|update|manage|create)?todos?(?:list)?|(?:update|set|create|save)plan|tasktracker)$/;
const PLAN_TOOL = /^(?:exitplanmode|createplan|saveplan)$/;
const TASK_TOOL = /^task(?:create|update)$/;
const TASK_NUMBER = /#(\d+)/;
/** Tools that show something else of a file than its text, and tools that change it. */
const SEARCHES = /grep|search|find|glob|list|diff|outline/;
const CHANGES = /edit|insert|replace|patch|writ|creat|updat|append|renam|mov|delet/;
/** A shorter answer only reports that a file or a skill was loaded. */
const LEAST_DOCUMENT_CHARS = 80;
/** An answer in place of a text that was read before. */
const UNCHANGED = /^\W*(?:the )?(?:file|contents?)\b.{0,80}\b(?:unchanged|not (?:been )?(?:changed|modified))\b/i;
/** The numbers that tools put before the lines of a file. */
const LINE_NUMBER = /^ *\d+[→\t]/gm;
/** A larger text may be masked, although it was loaded. */
const MAX_SHOWN_CHARS = 20_000;

/** Field names of a tool's input, as different tools call them, in small letters and without marks. */
const PATHS = ["path", "filepath", "file", "filename", "targetfile", "absolutepath", "relativeworkspacepath", "uri"];
const CONTENTS = ["content", "contents", "filetext", "newcontent"];
const OLD = ["oldstring", "oldstr", "oldtext"];
const NEW = ["newstring", "newstr", "newtext"];
const COMMANDS = ["command", "cmd"];
const LISTS = ["todos", "plan", "todolist", "items", "tasks", "tasklist", "steps"];
const TEXTS = ["content", "step", "task", "text", "title", "subject", "description"];
const NAMES = ["skill", "name", "skillname", "command", "id"];
const SEARCHED = ["pattern", "query", "regex", "search"];
const FIRST_LINES = ["offset", "startline", "startlineoneindexed"];
const LAST_LINES = ["limit", "endline", "endlineoneindexedinclusive", "head", "tail"];

const LIST_NAME = "list of tasks";
const PLAN_NAME = "plan";

type Fields = Readonly<Record<string, unknown>>;

export interface LoadedFrom {
  /** The id of the stored message behind the message of a view. */
  readonly messageId: string;
  /** Names calls as facts do. */
  readonly nameCall: (tool: ToolPart) => string;
}

/** The texts that a message loads, in order. */
export function readLoaded(message: UIMessage, { messageId, nameCall }: LoadedFrom): Loaded[] {
  return message.parts.flatMap((part) => {
    const tool = toolPart(part);
    if (tool === null) return [];
    const isOpen = !hasResult(tool) || ("preliminary" in tool && tool.preliminary);
    const found = isOpen ? [openCall(tool, nameCall)] : isBareResult(tool) ? [closedCall(tool)] : readTool(tool);
    return found.map((each) => ({ characters: each.text.length, messageId, ...each }));
  });
}

/** True for a call whose output is the text of a document or a plan. A mask would hide it, because no overlay has it. */
export function showsLoaded(tool: ToolPart): boolean {
  return readTool(tool).some((each) => {
    const { length } = each.text;
    return isWhole(each) && length > 0 && length <= Math.min(outputText(tool.output).length, MAX_SHOWN_CHARS);
  });
}

/** The path of the file that a call wrote, edited or removed. Empty for any other part. */
export function changedFile(part: UIMessage["parts"][number]): string {
  const tool = toolPart(part);
  if (tool?.state !== "output-available" || tellsError(tool.output)) return "";
  const name = nameOfTool(tool);
  const input = fieldsOf(tool.input);
  const isChange = CHANGES.test(name) && !SEARCHES.test(name) && firstText(input, COMMANDS) !== "view";
  return isChange ? pathOf(firstText(input, PATHS)) : "";
}

type Found = Pick<Loaded, "kind" | "name" | "text"> & Partial<Loaded>;

function readTool(tool: ToolPart): Found[] {
  if (tool.state !== "output-available") return [];
  const { output } = tool;
  const input = fieldsOf(tool.input);
  const name = nameOfTool(tool);
  const said = outputText(output);
  // The heading of a document may be about errors.
  if (said.startsWith(NOT_DONE) || (tellsError(output) && !said.startsWith("#"))) return [];
  if (toolName(tool) === LOAD_TOOL) return asText("document", contextKey(input), said);
  if (toolName(tool) === UNLOAD_TOOL) return [{ kind: "document", name: contextKey(input), text: "" }];
  const plan = PLAN_TOOL.test(name) ? asText("plan", PLAN_NAME, firstText(input, ["plan"])) : [];
  if (plan.length > 0) return plan;
  if (LIST_TOOL.test(name)) return readList(input, said);
  if (TASK_TOOL.test(name)) return readTask(input, said);
  if (SKILL_TOOL.test(name)) return asDocument(firstText(input, NAMES), said);
  return readFile(name, input, said);
}

/** Without the name of its server and without marks. */
function nameOfTool(tool: ToolPart): string {
  return plain(toolName(tool).replace(/^.*__/, ""));
}

function openCall(tool: ToolPart, nameCall: LoadedFrom["nameCall"]): Found {
  const text = `${toolName(tool)} ${callInput(tool.input).slice(0, MAX_CALL_CHARS)}`.trim();
  return { ...closedCall(tool), name: nameCall(tool), text };
}

/** Removes the call that an earlier message left open. */
function closedCall({ toolCallId }: ToolPart): Found {
  return { kind: "call", name: "", text: "", callId: toolCallId };
}

/** The input as JSON. Empty when it is nested too deeply to be written. */
function callInput(input: unknown): string {
  try {
    return jsonText(input);
  } catch {
    return "";
  }
}

function contextKey(input: Fields): string {
  return nameOf(`${firstText(input, ["label"])}:${firstText(input, ["key"])}`);
}

/** Only a whole text replaces what stands. A part of a file or a receipt leaves it. */
function readFile(tool: string, input: Fields, said: string): Found[] {
  const command = commandIn(input);
  const shell = SHOWS_FILE.exec(command)?.groups;
  const path = pathOf(shell === undefined ? firstText(input, PATHS) : shownPath(shell));
  if (path === "") return readCommand(command);
  if (!isInstruction(path) || SEARCHES.test(tool)) return [];
  const edits = editsIn(input);
  if (edits.length > 0) return [{ kind: "document", name: path, text: "", edits }];
  const written = firstText(input, CONTENTS);
  if (written !== "" && !tool.includes("append")) return asDocument(path, written);
  if (shell === undefined && command !== "view" && CHANGES.test(tool))
    return [{ kind: "document", name: path, text: "", ...(!tool.includes("delet") && { edits: [] }) }];
  if (UNCHANGED.test(said) || !isAll(shell === undefined ? input : { limit: shell.last ?? shell.first }, said))
    return [];
  return asDocument(path, /^ *1[→\t]/.test(said) ? said.replaceAll(LINE_NUMBER, "") : said);
}

/** The command of a shell, also in the form of its arguments. */
function commandIn(input: Fields): string {
  const list = COMMANDS.map((field) => input[field]).find(Array.isArray) as readonly unknown[] | undefined;
  if (list === undefined) return firstText(input, COMMANDS);
  return (/^-\w*c$/.test(jsonText(list[1])) ? list.slice(2) : list).map(jsonText).join(" ");
}

/** The file that a shell wrote whole, or the names of those that it may have changed. */
function readCommand(command: string): Found[] {
  const parts = command.split(/[\n|;&]+/).map((part) => CHANGES_FILES.exec(part)?.groups?.["files"] ?? "");
  const changed = parts.flatMap((files) => files.split(/[\s"'<>]+/).map(pathOf)).filter(isInstruction);
  return changed.map((name) => ({ kind: "document", name, text: "", edits: [] }));
}

function shownPath({ folder, quoted, path = quoted ?? "" }: Readonly<Record<string, string | undefined>>): string {
  return folder === undefined || /^(?:[\\/~]|\w:)/.test(path) ? path : `${folder}/${path}`;
}

function pathOf(path: string): string {
  return nameOf(path.replace(/^file:\/\//, "").replace(/^(?:\.[\\/])+/, ""));
}

function isInstruction(path: string): boolean {
  return INSTRUCTIONS.test(path);
}

/** Whether a read shows the whole file. One that may end early does so where it says fewer lines than it could. */
function isAll(input: Fields, said: string): boolean {
  const [from, to] = Array.isArray(input["viewrange"]) ? (input["viewrange"] as readonly unknown[]) : [];
  const firsts = [from, ...FIRST_LINES.map((field) => input[field])].map(Number);
  const lasts = [to, ...LAST_LINES.map((field) => input[field])].map(Number);
  const lines = said.trimEnd().split("\n").length;
  return (
    firstText(input, SEARCHED) === "" &&
    !firsts.some((line) => line > 1) &&
    !lasts.some((line) => line > 0 && line <= lines)
  );
}

function editsIn(input: Fields): Edit[] {
  const list: readonly unknown[] = Array.isArray(input["edits"]) ? input["edits"] : [input];
  return list.flatMap((each) => {
    const fields = fieldsOf(each);
    const from = firstText(fields, OLD);
    const edit = { from, to: firstText(fields, NEW) };
    return from === "" ? [] : [fields["replaceall"] === true ? { ...edit, all: true as const } : edit];
  });
}

function readList(input: Fields, said: string): Found[] {
  const list = LISTS.map((field) => input[field]).find(Array.isArray) as readonly unknown[] | undefined;
  if (list === undefined)
    return asText("plan", LIST_NAME, firstText(input, LISTS) || (said.includes("\n- [") ? said : ""));
  const tasks = list.flatMap((each) => {
    const fields = fieldsOf(each);
    const text = typeof each === "string" ? each : firstText(fields, TEXTS);
    const id = jsonText(fields["id"]) || text;
    return id === "" ? [] : [{ id, text, status: statusOf(fields) }];
  });
  const found = { kind: "plan", name: LIST_NAME, text: tellTasks(tasks), tasks: tasks.slice(-MAX_TASKS) } as const;
  return [input["merge"] === true ? found : { ...found, replaces: true }];
}

function readTask(input: Fields, said: string): Found[] {
  const id = firstText(input, ["taskid", "id"]) || (TASK_NUMBER.exec(said)?.[1] ?? "");
  if (id === "") return [];
  const tasks = [{ id, text: firstText(input, ["subject", "title"]), status: statusOf(input) }];
  return [{ kind: "plan", name: LIST_NAME, text: tellTasks(tasks), tasks }];
}

function statusOf(fields: Fields): string {
  const { completed, done } = fields;
  return firstText(fields, ["status", "state"]) || (completed === true || done === true ? "completed" : "");
}

function tellTasks(tasks: readonly Task[]): string {
  return tasks.flatMap(({ text, status }) => (text === "" ? [] : [`- [${status || "pending"}] ${text}`])).join("\n");
}

function asDocument(name: string, text: string): Found[] {
  return name === "" || text.length < LEAST_DOCUMENT_CHARS ? [] : asText("document", nameOf(name), text);
}

function asText(kind: Loaded["kind"], name: string, text: string): Found[] {
  return text.trim() === "" ? [] : [{ kind, name, text }];
}

function nameOf(name: string): string {
  return name.slice(-MAX_NAME_CHARS);
}

/** The fields of an object, with their names as {@link PATHS} has them. */
function fieldsOf(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [plain(name), each]));
}

function plain(name: string): string {
  return name.replaceAll(/[_-]/g, "").toLowerCase();
}

function firstText(fields: Fields, names: readonly string[]): string {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

/** The texts in force after both parts, oldest first: the newest version of each, without calls answered since. */
export function mergeLoaded(earlier: readonly Loaded[], later: readonly Loaded[]): readonly Loaded[] {
  if (later.length === 0) return earlier;
  const standing = new Map<string, Loaded>();
  for (const each of [...earlier, ...later]) {
    const key = keyOf(each);
    const before = standing.get(key);
    standing.delete(key);
    if (before === undefined || each.kind !== "call" || each.text !== "")
      standing.set(key, before === undefined ? each : follow(before, each));
  }
  return bound([...standing.values()]);
}

export function keyOf({ kind, name, callId = name }: Pick<Loaded, "kind" | "name" | "callId">): string {
  return `${kind} ${callId}`;
}

/** True for a full text, which is neither a change of a document nor a change of some tasks of a list. */
export function isWhole({
  kind,
  edits,
  tasks,
  replaces,
}: Pick<Loaded, "kind" | "edits" | "tasks" | "replaces">): boolean {
  return kind !== "call" && edits === undefined && (tasks === undefined || replaces === true);
}

/** True for a mark that nothing is left of an earlier text: an emptied list, an unloaded skill or an answered call. */
export function isGone({ text, characters, edits }: Loaded): boolean {
  return text === "" && characters === 0 && edits === undefined;
}

function follow(before: Loaded, later: Loaded): Loaded {
  if (later.edits !== undefined) return edited(before, later, later.edits);
  if (later.tasks === undefined || later.replaces === true) return later;
  const tasks = new Map((before.tasks ?? []).map((task) => [task.id, task]));
  for (const { id, text, status } of later.tasks) {
    const known = tasks.get(id);
    tasks.set(id, { id, text: text || (known?.text ?? ""), status: status || (known?.status ?? "") });
  }
  const all = [...tasks.values()].slice(-MAX_TASKS);
  const text = tellTasks(all);
  return { ...later, ...(isWhole(before) && { replaces: true }), tasks: all, text, characters: text.length };
}

function edited(before: Loaded, later: Loaded, edits: readonly Edit[]): Loaded {
  const lost = { ...later, edits: [] };
  if (edits.length === 0) return lost;
  if (before.edits !== undefined)
    return before.edits.length === 0 ? lost : { ...later, edits: [...before.edits, ...edits] };
  let { text } = before;
  for (const { from, to, all } of edits) {
    if (!text.includes(from)) return lost;
    // A function, because the new text may have marks with a meaning in a replacement string.
    text = all === true ? text.replaceAll(from, () => to) : text.replace(from, () => to);
  }
  return { kind: later.kind, name: later.name, text, characters: text.length, messageId: later.messageId };
}

/** The plan and open calls get room first, then the newest documents. Others keep their name without the text. */
function bound(loaded: readonly Loaded[]): readonly Loaded[] {
  let room = MAX_LOADED_CHARS;
  const kept = new Map<Loaded, Loaded>();
  for (const each of byImportance(loaded).slice(0, MAX_LOADED)) {
    const size = each.text.length + (each.edits ?? []).reduce((sum, { from, to }) => sum + from.length + to.length, 0);
    const fits = size <= room;
    if (fits) room -= size;
    kept.set(each, fits ? each : withoutText(each));
  }
  return loaded.flatMap((each) => kept.get(each) ?? []);
}

/** The plan and open calls first, then documents, the newest first. */
export function byImportance(loaded: readonly Loaded[]): readonly Loaded[] {
  const newest = loaded.toReversed();
  return [...newest.filter(({ kind }) => kind !== "document"), ...newest.filter(({ kind }) => kind === "document")];
}

function withoutText({ kind, name, characters, messageId, callId, edits }: Loaded): Loaded {
  return { kind, name, text: "", characters, messageId, ...(callId && { callId }), ...(edits && { edits: [] }) };
}
