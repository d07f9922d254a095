/**
 * Texts loaded into a conversation that hold until a newer one replaces them: instruction files and skills that a tool read, and the
 * latest plan or task list, whoever left it so.
 *
 * Messages in, {@link Loaded} out, merged part by part, oldest first, and bounded. A file counts where a tool read or wrote the whole of
 * it from a local path. Any other mention that may have changed it withdraws its text, and then only its name is shown.
 */
import type { UIMessage } from "ai";
import type { CountTokens } from "../steps/message/measure.ts";
import { changeResult, hasErrorField, outputText, readResult } from "../steps/message/output.ts";
import { jsonText, toolName, toolPart, type ToolPart } from "../steps/message/tool-parts.ts";
import type { Pinned } from "./fact.ts";
import { renderLoaded } from "./render.ts";

/** The tools of context blocks, and the prefix of an answer that brought no text. */
export const LOAD_TOOL = "load_context";
export const NOT_DONE = "Not done. ";

/** One loaded text in its last state. */
export interface Loaded {
  readonly kind: "document" | "skill" | "context" | "plan";
  /** A path, a skill's name, or the name of the list. */
  readonly name: string;
  /** Word for word. Empty where it is too long to keep, or not known any more. */
  readonly text: string;
  readonly characters: number;
  readonly messageId: string;
  /** Changes of a text that an earlier part may have loaded. */
  readonly edits?: readonly Edit[];
  /** Set where the text may have changed since. It is not shown until it is loaded again. */
  readonly doubted?: true;
  /** Changes of single tasks, where an earlier part may have the list. */
  readonly tasks?: readonly Task[];
}

interface Edit {
  readonly from: string;
  readonly to: string;
  readonly all: boolean;
}

interface Task {
  readonly id: string;
  readonly text: string;
  readonly status: string;
}

const MAX_LOADED_CHARS = 100_000;
const MAX_LOADED = 60;
const MAX_NAME_CHARS = 200;
const MAX_TASKS = 100;
/** A shorter answer only reports that something was done. */
const LEAST_TEXT_CHARS = 80;

/** Instruction files for agents, by the names that tools look for. */
const INSTRUCTIONS =
  /(?:^|\/)(?:(?:AGENTS(?:\.override)?|CLAUDE(?:\.local)?|GEMINI|QWEN|CRUSH|CONVENTIONS|SKILL|copilot-instructions)\.md|\.(?:cursorrules|windsurfrules|clinerules|goosehints)|\.(?:cursor|clinerules|windsurf|roo|kiro|claude\/rules)\/.+\.mdc?)$|\.instructions\.md$/i;
const MENTION = /(?<![\w@~./\\-])[\w@~./\\-]*(?:\.md|\.mdc|rules|hints)\b/gi;
const REMOTE = /^[a-z][a-z0-9+.-]+:\/\/(?!\/)|^https?:/i;
/** Names of tools in small letters, without the name of their server and without marks. */
const SKILL_TOOL = /^(?:(?:load|read|use|get|activate|invoke|fetch|open|view)?skill|skills?(?:load|read|view|get))$/;
const LIST_TOOL =
  /todowrite$|^(?:(?:write|set|update|manage|create)?todos?(?:list)?|(?:update|set|create|save)plan|tasktracker)$/;
const PLAN_TOOL = /^(?:exitplanmode|createplan|saveplan)$/;
const TASK_TOOL = /^task(?:create|update)$/;
const TASKS_TOOL = /^(?:task|todo)s?list$|^(?:list|read)(?:task|todo)s$|^todoread$/;
const READS = /^(?:(?=\w*read)\w+|view\w*|open(?:file)?|cat|getfile\w*|showfile|loadfile|strreplace\w*)$/;
const NO_FILE = /resource|attachment|mail|message|fetch|http|web|url|download|search|grep|find/;
const WRITES = /writ|creat|edit|replace|patch|insert|update|append|apply/;
/** Commands that change no file unless they redirect, and the ones among them that show a whole file. */
const HARMLESS =
  /^\s*(?:cd\s+\S+\s*&&\s*)*(?:cat|head|tail|less|more|nl|bat|ls|wc|grep|rg|diff|stat|file|git\s+(?:add|commit|diff|log|show|status|push|blame))\b[^>;&|]*(?:2>\s*\/dev\/null\s*)?$/;
const SHOWS = /^\s*(?:cd\s+(\S+)\s*&&\s*)?(?:cat|bat|nl)\s+["']?([^\s"'|;&>]+)["']?\s*(?:2>\s*\/dev\/null\s*)?$/;
const STARTS_SHELL = /^\s*\S*sh\s+-\w*c\s+(["']?)([^]*)\1\s*$/;
const TASK_LINE = /^\s*(?:[-*]\s+)?#?(\d+)[.:]?\s+\[([\w -]+)\]\s+(.+)$/;
const NUMBERED = /^ *\d+[→\t](.*)/gm;
const TRUNCATED = /\b(?:truncated|omitted|characters left out)\b/i;

/** Names of the fields of a tool's input, without marks and in small letters. */
const PATHS = [
  "path",
  "filepath",
  "file",
  "filename",
  "targetfile",
  "absolutepath",
  "relativepath",
  "relativeworkspacepath",
];
const COMMANDS = ["command", "cmd", "commandline", "bash", "script", "input", "patch", "patchtext"];
const CONTENTS = ["content", "contents", "filetext", "newcontent"];
const OLD = ["oldstring", "oldstr", "oldtext"];
const NEW = ["newstring", "newstr", "newtext"];
const LISTS = ["todos", "plan", "todolist", "items", "tasks", "tasklist", "steps"];
const TEXTS = ["content", "step", "task", "text", "title", "subject", "description"];
const PARTS = [
  "offset",
  "limit",
  "startline",
  "endline",
  "startlineoneindexed",
  "viewrange",
  "pattern",
  "query",
  "head",
  "tail",
];

const LIST_NAME = "list of tasks";
const PLAN_NAME = "plan";

type Fields = Readonly<Record<string, unknown>>;
type Found = Pick<Loaded, "kind" | "name" | "text"> & Partial<Loaded>;

/** The texts that a message loads, in order. Only an assistant's tools load anything. */
export function readLoaded(message: UIMessage, messageId: string): readonly Loaded[] {
  if (message.role !== "assistant") return [];
  const found = message.parts.flatMap((part) => {
    const tool = toolPart(part);
    return tool === null ? [] : readTool(tool);
  });
  return found
    .map((each): Loaded => ({
      characters: each.text.length,
      messageId,
      ...each,
      name: each.name.slice(-MAX_NAME_CHARS),
    }))
    .reduce<readonly Loaded[]>((all, each) => mergeLoaded(all, [each]), []);
}

function readTool(tool: ToolPart): Found[] {
  if (tool.state !== "output-available" || ("preliminary" in tool && tool.preliminary === true)) return [];
  const input = fieldsOf(typeof tool.input === "string" ? { input: tool.input } : tool.input);
  const name = plain(toolName(tool).replace(/^.*__/, ""));
  const { contents } = (tool.output ?? {}) as { contents?: unknown };
  const answer =
    firstOf(fieldsOf(tool.output), ["content", "text", "output", "stdout"]) || outputText(contents ?? tool.output);
  const failed = answer.startsWith(NOT_DONE) || hasErrorField(tool.output);
  const key = `${firstOf(input, ["label"])}:${firstOf(input, ["key"])}`;
  if (toolName(tool) === LOAD_TOOL) return failed ? [] : asText("context", key, answer);
  if (toolName(tool) === "set_context") return key.endsWith(":") || failed ? [] : [unknown("context", key)];
  if (toolName(tool) === "unload_context") return failed ? [] : [{ kind: "context", name: key, text: "" }];
  if (failed) return [];
  if (PLAN_TOOL.test(name) && firstOf(input, ["plan"]) !== "")
    return asText("plan", PLAN_NAME, firstOf(input, ["plan"]));
  if (LIST_TOOL.test(name)) return readList(input, answer);
  if (TASK_TOOL.test(name)) return readTask(input, answer);
  if (TASKS_TOOL.test(name)) return readTasks(answer);
  if (SKILL_TOOL.test(name)) {
    const skill = firstOf(input, ["skill", "name", "skillname", "command", "id"]);
    return isText(answer) ? asText("skill", skill, answer) : [];
  }
  return readFile(name, input, answer);
}

function readFile(tool: string, input: Fields, answer: string): Found[] {
  const command = commandOf(input);
  const [, folder = "", shown = ""] = SHOWS.exec(command) ?? [];
  if (shown !== "") {
    const path = folder === "" || shown.startsWith("/") ? tidy(shown) : tidy(`${folder}/${shown}`);
    return isInstruction(path) && isText(answer) ? asText("document", path, answer) : [];
  }
  const path = tidy(firstOf(input, PATHS));
  const isWhole = !PARTS.some((field) => input[field] !== undefined && input[field] !== null && input[field] !== 0);
  const action = tool + plain(firstOf(input, ["command"]));
  const written = firstOf(input, CONTENTS);
  if (isInstruction(path) && !NO_FILE.test(tool)) {
    const edits = editsOf(input);
    if (edits.length > 0 || written !== "") {
      const made = changeResult(answer, [path]);
      if (made === "refused") return [];
      if (made === "unclear") return [unknown("document", path)];
      if (edits.length > 0) return [{ kind: "document", name: path, text: "", edits }];
      return /append|insert/.test(action) ? [unknown("document", path)] : asText("document", path, written);
    }
    if (READS.test(tool) && !WRITES.test(plain(firstOf(input, ["command"]))))
      return isWhole && isText(answer) && !TRUNCATED.test(answer) ? asText("document", path, numbersOff(answer)) : [];
  }
  if (HARMLESS.test(command) || NO_FILE.test(tool)) return [];
  const isChange = command !== "" || WRITES.test(action) || /delet|remov|mov|renam|restor|checkout/.test(action);
  const mentioned = isChange
    ? (JSON.stringify(tool === "" ? "" : { command, path, ...input }).match(MENTION) ?? [])
    : [];
  return [...new Set(mentioned.map(tidy).filter(isInstruction))].map((each) => unknown("document", each));
}

function isText(answer: string): boolean {
  return answer.length >= LEAST_TEXT_CHARS && readResult(answer) === "text";
}

function isInstruction(path: string): boolean {
  return INSTRUCTIONS.test(path) && !REMOTE.test(path);
}

/** A path with slashes and without steps. */
function tidy(path: string): string {
  return path
    .replace(/^file:\/\//, "")
    .replaceAll(/\\+/g, "/")
    .replace(/^(?:\.\/)+/, "");
}

/** The command of a shell, also where it is given as a list or a shell starts a shell. */
function commandOf(input: Fields): string {
  const value = COMMANDS.map((name) => input[name]).find((each) => each !== undefined);
  const words = [value, input["args"]].flatMap((each) => (Array.isArray(each) ? each.map(jsonText) : [jsonText(each)]));
  return words
    .filter((word) => word !== "")
    .join(" ")
    .replace(STARTS_SHELL, "$2");
}

function numbersOff(answer: string): string {
  return /^ *\d+[→\t]/.test(answer) ? [...answer.matchAll(NUMBERED)].map(([, line]) => line).join("\n") : answer;
}

function editsOf(input: Fields): Edit[] {
  const list: readonly unknown[] = Array.isArray(input["edits"]) ? input["edits"] : [input];
  const edits = list.flatMap((each) => {
    const fields = fieldsOf(each);
    const from = firstOf(fields, OLD);
    const to = NEW.map((name) => fields[name]).find((value) => typeof value === "string");
    return from === "" || to === undefined ? [] : [{ from, to, all: fields["replaceall"] === true }];
  });
  return edits.length === list.length ? edits : [];
}

function readList(input: Fields, answer: string): Found[] {
  const list = LISTS.map((name) => input[name]).find((value): value is unknown[] => Array.isArray(value));
  if (list === undefined)
    return asText("plan", LIST_NAME, firstOf(input, LISTS) || (answer.includes("\n- [") ? answer : ""));
  const tasks = list.flatMap((each) => {
    const fields = fieldsOf(each);
    const text = typeof each === "string" ? each : firstOf(fields, TEXTS);
    const id = jsonText(fields["id"]) || text;
    return id === "" ? [] : [{ id, text, status: statusOf(fields) }];
  });
  if (input["merge"] === true) return [{ kind: "plan", name: LIST_NAME, text: "", tasks }];
  return [{ kind: "plan", name: LIST_NAME, text: tellTasks(tasks) }];
}

function readTask(input: Fields, answer: string): Found[] {
  const id = firstOf(input, ["taskid", "id"]) || (/#(\d+)/.exec(answer)?.[1] ?? "");
  if (id === "" || changeResult(answer, []) === "refused") return [];
  const task = { id, text: firstOf(input, ["subject", "title"]), status: statusOf(input) };
  return [{ kind: "plan", name: LIST_NAME, text: "", tasks: [task] }];
}

/** What a tool says that the list is. */
function readTasks(answer: string): Found[] {
  const isList = answer.split("\n").some((line) => TASK_LINE.test(line) || /^\s*[-*] \[/.test(line));
  return isList ? [{ kind: "plan", name: LIST_NAME, text: answer.trim() }] : [];
}

function statusOf(fields: Fields): string {
  const isDone = fields["completed"] === true || fields["done"] === true;
  return firstOf(fields, ["status", "state"]) || (isDone ? "completed" : "");
}

function tellTasks(tasks: readonly Task[]): string {
  return tasks
    .slice(-MAX_TASKS)
    .map(({ id, text, status }) => `- ${/^\d+$/.test(id) ? `#${id} ` : ""}[${status || "pending"}] ${text}`)
    .join("\n");
}

/** The lines of a list by the ids of their tasks. A line without one is its own id. */
function listed(text: string): Task[] {
  return text.split("\n").flatMap((line) => {
    const [, id, status, rest] = TASK_LINE.exec(line) ?? /^\s*[-*] ()\[([\w -]*)\]\s+(.+)$/.exec(line) ?? [];
    return rest === undefined ? [] : [{ id: id || rest, text: rest, status: status ?? "" }];
  });
}

function unknown(kind: Loaded["kind"], name: string): Found {
  return { kind, name, text: "", doubted: true };
}

function asText(kind: Loaded["kind"], name: string, text: string): Found[] {
  return text.trim() === "" ? [] : [{ kind, name, text }];
}

function fieldsOf(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [plain(name), each]));
}

function plain(name: string): string {
  return name.replaceAll(/[_-]/g, "").toLowerCase();
}

function firstOf(fields: Fields, names: readonly string[]): string {
  return (
    names.map((name) => fields[name]).find((value): value is string => typeof value === "string" && value !== "") ?? ""
  );
}

/** The texts after both parts: the newest version of each, the last loaded at the end. */
export function mergeLoaded(earlier: readonly Loaded[], later: readonly Loaded[]): readonly Loaded[] {
  let standing = [...earlier];
  for (const each of later) {
    const known = standing.filter((other) => isSameText(other, each));
    const [before] = known.toReversed();
    standing = [
      ...standing.filter((other) => !known.includes(other)),
      before === undefined ? each : follow(before, each),
    ];
  }
  return bound(standing);
}

function isSameText(one: Loaded, other: Loaded): boolean {
  if (one.kind !== other.kind) return false;
  if (one.name === other.name) return true;
  return one.kind === "document" && (one.name.endsWith(`/${other.name}`) || other.name.endsWith(`/${one.name}`));
}

function follow(before: Loaded, later: Loaded): Loaded {
  if (later.tasks !== undefined) {
    if (before.text === "" && before.tasks !== undefined)
      return { ...later, tasks: mergeTasks(before.tasks, later.tasks) };
    const text = tellTasks(mergeTasks(listed(before.text), later.tasks));
    return { kind: later.kind, name: later.name, text, characters: text.length, messageId: later.messageId };
  }
  if (later.edits === undefined) return later.doubted === true ? { ...later, name: before.name } : later;
  if (before.edits !== undefined)
    return { ...before, messageId: later.messageId, edits: [...before.edits, ...later.edits] };
  let { text } = before;
  for (const { from, to, all } of later.edits) {
    if (before.doubted === true || !text.includes(from)) return { ...later, name: before.name, doubted: true };
    // A function, because the new text may have marks with a meaning in a replacement string.
    text = all ? text.replaceAll(from, () => to) : text.replace(from, () => to);
  }
  return { kind: before.kind, name: before.name, text, characters: text.length, messageId: later.messageId };
}

function mergeTasks(known: readonly Task[], changed: readonly Task[]): Task[] {
  const tasks = new Map(known.map((task) => [task.id, task]));
  for (const { id, text, status } of changed) {
    const before = tasks.get(id);
    tasks.set(id, { id, text: text || (before?.text ?? ""), status: status || (before?.status ?? "") });
  }
  return [...tasks.values()];
}

/** The plan first, then the newest. Others keep their name without the text. */
function bound(loaded: readonly Loaded[]): readonly Loaded[] {
  let left = MAX_LOADED_CHARS;
  const kept = new Map<Loaded, Loaded>();
  for (const each of byImportance(loaded).slice(0, MAX_LOADED)) {
    const size = each.text.length + JSON.stringify(each.edits ?? []).length;
    if (size <= left) left -= size;
    const { edits: _edits, ...rest } = each;
    kept.set(each, size <= left ? each : { ...rest, text: "", ...(each.edits && { doubted: true as const }) });
  }
  return loaded.flatMap((each) => kept.get(each) ?? []);
}

function byImportance(loaded: readonly Loaded[]): readonly Loaded[] {
  const newest = loaded.toReversed();
  return [...newest.filter(({ kind }) => kind === "plan"), ...newest.filter(({ kind }) => kind !== "plan")];
}

/** The most texts that are only named. */
const MAX_NAMED = 12;

/** The plan comes first, then files and skills, the newest first. A text without room is only named. */
export function pickLoaded(
  loaded: readonly Loaded[],
  { budgetTokens, countTokens }: { readonly budgetTokens: number; readonly countTokens: CountTokens },
): Pinned["loaded"] {
  const present = loaded
    // Nothing is known of changes alone, and an entry without text was put away.
    .map((each) =>
      each.doubted || each.edits || (each.tasks && each.text === "") ? { ...each, text: "", characters: 0 } : each,
    )
    .filter(({ text, characters, doubted, edits }) => text !== "" || characters > 0 || doubted || edits);
  const queue = byImportance(present);
  let shown: Loaded[] = [];
  const pin = (some: readonly Loaded[]): Pinned["loaded"] => {
    const named = queue.filter((each) => !some.includes(each)).slice(0, MAX_NAMED);
    return present.flatMap((each) => {
      const { kind, name, characters, messageId } = each;
      if (!some.includes(each) && !named.includes(each)) return [];
      return [{ kind, name, text: some.includes(each) ? each.text : "", characters, messageId }];
    });
  };
  const fits = (some: readonly Loaded[]): boolean => countTokens(renderLoaded(pin(some))) <= budgetTokens;
  if (!fits([])) return [];
  for (const each of queue) if (each.text !== "" && fits([...shown, each])) shown = [...shown, each];
  return pin(shown);
}
