/**
 * Texts loaded into a conversation that hold until a newer one replaces them: instruction files and skills that a tool
 * read, the last state of the plan or task list, and calls without a result.
 *
 * Messages in, {@link Loaded} out, merged part by part, oldest first, and bounded. A tool's input says which file or
 * skill a text is. Its answer only says whether a change was made, and one short line may say that nothing was read. In
 * doubt a text is named and not shown.
 */
import type { UIMessage } from "ai";
import { changeTold, contentOf, hasErrorField, outputText, readTold } from "../message/output.ts";
import { covers, isAbsolute, pathOf, readCommand } from "./shell.ts";
import { hasResult, isBareResult, jsonText, toolName, toolPart, type ToolPart } from "../message/tool-parts.ts";

/** The tools of context blocks, and the prefix of an answer that brought no text. */
export const LOAD_TOOL = "load_context";
const UNLOAD_TOOL = "unload_context";
export const NOT_DONE = "Not done. ";

/** One loaded text in its last state. */
export interface Loaded {
  /** A document is a file. An entry of a context block is told apart from a skill that any other tool loads. */
  readonly kind: "document" | "skill" | "context" | "plan" | "call";
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
  /** Set where only a part of a file was read. It replaces nothing. */
  readonly part?: true;
  /** Set where the name is a pattern of files that may have changed. It is never shown. */
  readonly covers?: true;
  /** Set where one call read several files, whose texts are one. An edit of it cannot be followed. */
  readonly shared?: true;
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
  /(?:^|\/)(?:(?:AGENTS(?:\.override)?|CLAUDE(?:\.local)?|GEMINI|QWEN|CRUSH|CONVENTIONS|SKILL|copilot-instructions)\.md|\.(?:cursorrules|windsurfrules|clinerules|goosehints)|\.(?:cursor|clinerules|windsurf|roo|kiro|claude\/rules)\/.+\.mdc?)$|\.instructions\.md$/i;
/** A patch is applied as a whole or not at all. */
const PATCH = /^\W*(?:apply_patch|Begin Patch)/;
/** Names of tools in small letters, without the name of their server and without marks. */
const SKILL_TOOL = /^(?:(?:load|read|use|get|activate|invoke|fetch|open|view)?skill|skills?(?:load|read|view|get))$/;
const LIST_TOOL =
  /todowrite$|^(?:(?:write|set|update|manage|create)?todos?(?:list)?|(?:update|set|create|save)plan|tasktracker)$/;
const PLAN_TOOL = /^(?:exitplanmode|createplan|saveplan)$/;
const TASK_TOOL = /^task(?:create|update)$/;
const TASK_NUMBER = /#(\d+)/;
/** Tools that show something else of a file than its text, and tools that change it. */
const SEARCHES = /grep|search|find|glob|list|diff|outline|info|blame|history/;
const CHANGES = /edit|insert|replace|patch|writ|creat|updat|append|renam|mov|delet|chang|copy|checkout|restor/;
const TAKES_AWAY = /^(?:delet|remov|mov|renam)\w*(?:dir|folder|path|file)/;
const ADDS = /append|insert|patch/;
const READS = /read|view|open|cat|get|show|load|resource/;
/** A shorter answer of a skill, or of a tool that we do not know, only reports that something was done. */
const LEAST_DOCUMENT_CHARS = 80;
/** Where a tool left out the end or the middle of a text. */
const TRUNCATED = /[….[(<][^\n]{0,40}\b(?:truncated|omitted)\b[^\n]{0,60}(?:\s*$|…|\.{3})/i;
/** The numbers that tools put before the lines of a file. */
const LINE_NUMBER = /^ *\d+[→\t]/gm;
/** A larger text may be masked, although it was loaded. */
const MAX_SHOWN_CHARS = 20_000;

/** Field names of a tool's input, as different tools call them, in small letters and without marks. */
const PATHS = [
  "path",
  "filepath",
  "file",
  "filename",
  "targetfile",
  "absolutepath",
  "relativeworkspacepath",
  "uri",
  "source",
  "destination",
  "oldpath",
  "newpath",
];
const PATH_LISTS = ["paths", "files", "filepaths", "changes", "edits"];
const FOLDERS = ["workdir", "cwd", "workingdirectory"];
const CONTENTS = ["content", "contents", "filetext", "newcontent"];
const SAID = ["content", "text", "output", "stdout"];
const OLD = ["oldstring", "oldstr", "oldtext"];
const NEW = ["newstring", "newstr", "newtext"];
const COMMANDS = ["command", "cmd", "patch", "patchtext", "diff", "input", "code", "script"];
const LISTS = ["todos", "plan", "todolist", "items", "tasks", "tasklist", "steps"];
const TEXTS = ["content", "step", "task", "text", "title", "subject", "description"];
const NAMES = ["skill", "name", "skillname", "command", "id"];
const SEARCHED = ["pattern", "query", "regex", "search"];
const FIRST_LINES = ["offset", "startline", "startlineoneindexed"];
const LAST_LINES = ["limit", "endline", "endlineoneindexedinclusive", "head", "tail"];

const LIST_NAME = "list of tasks";
const PLAN_NAME = "plan";

type Told = ReturnType<typeof changeTold>;
type Fields = Readonly<Record<string, unknown>>;

export interface LoadedFrom {
  /** The id of the stored message behind the message of a view. */
  readonly messageId: string;
  /** Names calls as facts do. */
  readonly nameCall: (tool: ToolPart) => string;
}

/** The texts that a message loads, in order. Only an assistant's tools load anything. */
export function readLoaded(message: UIMessage, { messageId, nameCall }: LoadedFrom): Loaded[] {
  if (message.role !== "assistant") return [];
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
  if (tool?.state !== "output-available" || hasErrorField(tool.output)) return "";
  const name = nameOfTool(tool);
  const input = inputOf(tool);
  if (changeTold(answerOf(tool), pathsIn(input)) === "refused") return "";
  const isChange = CHANGES.test(name) && !SEARCHES.test(name) && commandIn(input) !== "view";
  return isChange ? (pathsIn(input)[0] ?? "") : "";
}

type Found = Pick<Loaded, "kind" | "name" | "text"> & Partial<Loaded>;

function readTool(tool: ToolPart): Found[] {
  if (tool.state !== "output-available" && tool.state !== "output-error") return [];
  const said = firstText(fieldsOf(tool.output), SAID) || outputText(tool.output);
  const name = nameOfTool(tool);
  const input = inputOf(tool);
  if (tool.state === "output-error" || said.startsWith(NOT_DONE) || hasErrorField(tool.output))
    return readSteps(input, said, "failed");
  if (toolName(tool) === LOAD_TOOL) return asText("context", contextKey(input), said);
  if (toolName(tool) === UNLOAD_TOOL) return [{ kind: "context", name: contextKey(input), text: "" }];
  const told = changeTold(answerOf(tool), pathsIn(input));
  const plan = PLAN_TOOL.test(name) ? asText("plan", PLAN_NAME, firstText(input, ["plan"])) : [];
  if (plan.length > 0) return told === "refused" || told === "doubted" ? plan.map(inPart) : plan;
  if (told === "refused" && (LIST_TOOL.test(name) || TASK_TOOL.test(name))) return [];
  if (LIST_TOOL.test(name)) return readList(input, said);
  if (TASK_TOOL.test(name)) return readTask(input, said);
  if (SKILL_TOOL.test(name))
    return said.length < LEAST_DOCUMENT_CHARS ? [] : asRead("skill", nameOf(firstText(input, NAMES)), said);
  return readFile(name, input, said, told);
}

/** What a tool answered, with the fields that have no text. */
function answerOf({ output = "" }: ToolPart): string {
  const isText = typeof output !== "object" || output === null || contentOf(output) !== null || "contents" in output;
  return isText ? outputText(output) : json(output);
}

function inputOf({ input }: ToolPart): Fields {
  return typeof input === "string" ? { input } : fieldsOf(input);
}

/** Without the name of its server and without marks. */
function nameOfTool(tool: ToolPart): string {
  return plain(toolName(tool).replace(/^.*__/, ""));
}

function openCall(tool: ToolPart, nameCall: LoadedFrom["nameCall"]): Found {
  const text = `${toolName(tool)} ${json(tool.input).slice(0, MAX_CALL_CHARS)}`.trim();
  return { ...closedCall(tool), name: nameCall(tool), text };
}

/** Removes the call that an earlier message left open. */
function closedCall({ toolCallId }: ToolPart): Found {
  return { kind: "call", name: "", text: "", callId: toolCallId };
}

/** The input as JSON. Empty when it is nested too deeply to be written. */
function json(input: unknown): string {
  try {
    return jsonText(input);
  } catch {
    return "";
  }
}

function contextKey(input: Fields): string {
  return nameOf(`${firstText(input, ["label"])}:${firstText(input, ["key"])}`);
}

/** Only a whole text replaces what stands. A part of a file, a receipt or a refused change leaves it. */
function readFile(tool: string, input: Fields, said: string, told: Told): Found[] {
  const paths = pathsIn(input);
  const files = paths.filter(isInstruction);
  if (files.length === 0) {
    const ended = told === "refused" ? told : undefined;
    const folders = TAKES_AWAY.test(tool) && ended === undefined ? paths.filter((path) => !/\.\w+$/.test(path)) : [];
    return folders.length > 0 ? folders.map(anyIn) : readSteps(input, said, ended);
  }
  return readNamed(tool, paths, { input, said, told });
}

/** A tool that was given the paths of instruction files. */
function readNamed(
  tool: string,
  paths: readonly string[],
  { input, said, told }: { readonly input: Fields; readonly said: string; readonly told: Told },
): Found[] {
  const files = paths.filter(isInstruction);
  if (SEARCHES.test(tool)) return [];
  const [command, edits, written] = [commandIn(input), editsIn(input), firstText(input, CONTENTS)];
  if (edits.length === 0 && written === "" && (command === "view" || !CHANGES.test(tool)))
    return said.length >= LEAST_DOCUMENT_CHARS || READS.test(tool + command) ? readWhole(paths, input, said) : [];
  if (told === "refused") return [];
  const [name = ""] = files;
  if (files.length > 1 || told !== "made") return files.map((each) => mayDiffer(each));
  if (edits.length > 0) return [{ kind: "document", name, text: "", edits }];
  const adds = ADDS.test(tool + command + firstText(input, ["mode"])) || input["append"] === true;
  if (written !== "" && !adds) return asText("document", name, written);
  return tool.includes("delet") ? [{ kind: "document", name, text: "" }] : [mayDiffer(name)];
}

/** The texts that a read shows. Where other texts stand beside them, files are only named. */
function readWhole(paths: readonly string[], lines: Fields, said: string): Found[] {
  const files = paths.filter(isInstruction);
  const text = /^ *1[→\t]/.test(said) ? said.replaceAll(LINE_NUMBER, "") : said;
  const found = files
    .flatMap((name) => asRead("document", name, text))
    .map((each) => (files.length > 1 ? { ...each, shared: true as const } : each));
  if (!isAll(lines, said) || TRUNCATED.test(said)) return found.map(inPart);
  return files.length < paths.length ? found.map(inPart) : found;
}

/** The files that a command showed, whole where it did nothing else, and the names of those that it may have changed, also where a later step failed. */
function readSteps(input: Fields, said: string, ended?: "failed" | "refused"): Found[] {
  const command = commandIn(input);
  const { steps, isOneOf } = readCommand(command, firstText(input, FOLDERS));
  const shown = ended === "failed" ? [] : steps.flatMap((step) => step.shown ?? []);
  if (ended !== undefined && shown.length === 0 && (steps.length === 1 || PATCH.test(command))) return [];
  const paths = shown.flatMap((each) => each.paths);
  if (shown.length === steps.length && !isOneOf) return readWhole(paths, shown[0]?.lines ?? {}, said);
  const changed = [...new Set(steps.flatMap((step) => step.changed))].filter(isInstruction);
  const seen = paths.filter(isInstruction).map((name) => inPart({ kind: "document", name, text: said }));
  const covered = [...new Set(steps.flatMap((step) => step.covers))].map((name) => anyIn(name));
  return [...seen, ...changed.map((name) => mayDiffer(name)), ...covered];
}

/** The command of a shell, also in the form of its arguments, or a patch or code. */
function commandIn(input: Fields): string {
  const list = COMMANDS.map((field) => input[field]).find(Array.isArray) as readonly unknown[] | undefined;
  return list?.map(jsonText).join(" ") ?? firstText(input, COMMANDS);
}

/** A file whose text is not known any more. */
function mayDiffer(name: string, kind: Loaded["kind"] = "document"): Found {
  return { kind, name, text: "", edits: [] };
}

/** Any file that a pattern covers. */
function anyIn(pattern: string): Found {
  return { ...mayDiffer(nameOf(pattern)), covers: true };
}

/** The text of a read, unless it reports that there was none. In doubt it is read again. */
function asRead(kind: Loaded["kind"], name: string, text: string): Found[] {
  const told = readTold(text);
  if (told === "unread") return [];
  return told === "text" ? asText(kind, name, text) : [mayDiffer(name, kind)];
}

/** Names a text that does not replace what stands. */
function inPart({ kind, name, text }: Found): Found {
  return { kind, name, text: "", characters: text.length, part: true };
}

function pathsIn(input: Fields): string[] {
  const own = (fields: Fields): unknown[] => PATHS.map((field) => fields[field]);
  const listed = PATH_LISTS.flatMap((field) => {
    const list = input[field];
    return Array.isArray(list) ? (list as unknown[]) : Object.keys(Object(list) as object);
  });
  const found = [...own(input), ...listed.flatMap((each) => [each, ...own(fieldsOf(each))])];
  const folder = firstText(input, FOLDERS);
  return [
    ...new Set(found.flatMap((each) => (typeof each === "string" && each !== "" ? nameOf(pathOf(each, folder)) : []))),
  ];
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
  const standing = new Map(earlier.map((each) => [keyOf(each), each]));
  for (const each of later) {
    const key = keyOf(each);
    if (each.covers) loseCovered(standing, each.name);
    const own = standing.get(key);
    const spelled = spellings(each, [...standing.values()]);
    const before = [...standing.values()].findLast((other) => other === own || spelled.includes(other));
    if (each.part && before !== undefined && !before.part) continue;
    const now = before === undefined ? each : follow(before, each);
    const isTouched = (other: Loaded): boolean =>
      spelled.includes(other) || [own, ...spelled].some((each) => isReadWith(other, each));
    standing.delete(key);
    if (own === undefined || each.kind !== "call" || each.text !== "") standing.set(key, now);
    for (const other of standing.values()) {
      if (other === before && each.edits !== undefined && now.text !== "") standing.delete(keyOf(other));
      else if (other !== now && (other.text !== now.text || other.edits !== undefined) && isTouched(other))
        standing.set(keyOf(other), lost(other));
    }
  }
  return bound([...standing.values()]);
}

function loseCovered(standing: Map<string, Loaded>, pattern: string): void {
  for (const [key, other] of standing)
    if (other.kind === "document" && covers(pattern, other.name)) standing.set(key, lost(other));
}

/** The files among `known` that `path` names in another spelling. A relative path means the one nearest to the root. */
function spellings({ kind, name: path, covers: isPattern }: Loaded, known: readonly Loaded[]): Loaded[] {
  if (kind !== "document" || isPattern === true) return [];
  const files = known.filter((each) => each.kind === "document" && !each.covers);
  const nearest = (relative: string): string | undefined =>
    [path, ...files.map(({ name }) => name)]
      .filter((each) => isAbsolute(each) && each.endsWith(`/${relative}`))
      .toSorted((a, b) => a.length - b.length)[0];
  return files.filter(({ name }) => (isAbsolute(path) ? nearest(name) === path : nearest(path) === name));
}

/** Whether one call read both files, so that their texts are one. */
function isReadWith({ shared, text, messageId }: Loaded, before: Loaded | undefined): boolean {
  return shared === true && text === before?.text && messageId === before.messageId;
}

export function keyOf({ kind, name, callId = name }: Pick<Loaded, "kind" | "name" | "callId">): string {
  return `${kind} ${callId}`;
}

/** True for a full text, which is neither a change of a document nor a change of some tasks of a list. */
export function isWhole({
  kind,
  part,
  edits,
  tasks,
  replaces,
}: Pick<Loaded, "kind" | "part" | "edits" | "tasks" | "replaces">): boolean {
  return kind !== "call" && part !== true && edits === undefined && (tasks === undefined || replaces === true);
}

/** True for a mark that nothing is left of an earlier text: an emptied list, an unloaded skill or an answered call. */
export function isGone({ text, characters, edits, covers: isPattern }: Loaded): boolean {
  return isPattern === true || (text === "" && characters === 0 && edits === undefined);
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
  if (edits.length === 0 || before.shared) return lost;
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

/** The plan and open calls first, then files and skills, the newest first. */
export function byImportance(loaded: readonly Loaded[]): readonly Loaded[] {
  const isWork = ({ kind }: Loaded): boolean => kind === "plan" || kind === "call";
  const newest = loaded.toReversed();
  return [...newest.filter(isWork), ...newest.filter((each) => !isWork(each))];
}

function lost(known: Loaded): Loaded {
  return known.covers ? known : { ...withoutText(known), characters: 0, edits: [] };
}

function withoutText({ kind, name, characters, messageId, callId, edits }: Loaded): Loaded {
  return { kind, name, text: "", characters, messageId, ...(callId && { callId }), ...(edits && { edits: [] }) };
}
