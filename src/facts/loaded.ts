/**
 * Texts loaded into a conversation that hold until a newer one replaces them: instruction files and skills that a tool
 * read, the last state of the plan or task list, and calls without a result.
 *
 * Messages in, {@link Loaded} out, merged part by part, oldest first, and bounded. A tool's input says which file or
 * skill a text is. Its answer only says whether a change was made, and one short line may say that nothing was read. In
 * doubt a text is named and not shown.
 */
import type { UIMessage } from "ai";
import { changeResult, contentOf, hasErrorField, outputText, readResult } from "../steps/message/output.ts";
import { baseName, isAbsolute, matches, pathOf, readCommand } from "./loaded/shell.ts";
import { hasResult, isBareResult, jsonText, toolName, toolPart, type ToolPart } from "../steps/message/tool-parts.ts";

/** The tools of context blocks, and the prefix of an answer that brought no text. */
export const LOAD_TOOL = "load_context";
export const NOT_DONE = "Not done. ";

/** One loaded text in its last state. */
export interface Loaded {
  /**
   * A document is a file. An entry of a context block and a skill of another tool have different kinds. What shells
   * touched is one entry, whose text has a line for each name or pattern, and which is never shown.
   */
  readonly kind: "document" | "skill" | "context" | "plan" | "call" | "touched";
  /** Its key within its kind: a path, or several that one call read as one text, a skill's name or the call. */
  readonly name: string;
  /** Word for word. Empty where it is too long to keep. */
  readonly text: string;
  /** The number of characters that it had. */
  readonly characters: number;
  readonly messageId: string;
  /** The id of an open call, because several may ask the same. */
  readonly callId?: string;
  /** What happened to a text that was loaded earlier, in order. */
  readonly edits?: readonly Edit[];
  /** Set where the text may have changed since, so it is not shown until it is loaded again. */
  readonly doubted?: true;
  /** The tasks of a list, with their texts and states. A text is empty where only the state was reported. */
  readonly tasks?: readonly Task[];
  /** Set where the tasks are all there are. Others change an earlier list. */
  readonly replaces?: true;
}

export interface Edit {
  readonly from: string;
  /** Absent where a tool only showed `from`, which the text must hold to be still the same. */
  readonly to?: string;
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
/** Names of tools in small letters, without the name of their server and without marks. */
const SKILL_TOOL = /^(?:(?:load|read|use|get|activate|invoke|fetch|open|view)?skill|skills?(?:load|read|view|get))$/;
const LIST_TOOL =
  /todowrite$|^(?:(?:write|set|update|manage|create)?todos?(?:list)?|(?:update|set|create|save)plan|tasktracker)$/;
const PLAN_TOOL = /^(?:exitplanmode|createplan|saveplan)$/;
const TASK_TOOL = /^task(?:create|update)$/;
const TASK_NUMBER = /#(\d+)/;
/** Tools that show something else of a file than its text, and tools that change it, which may search it first. */
const SEARCHES = /grep|search|find|glob|list|diff|outline|info|blame|history|exists|stat(?:us|s)?$|^gitadd$/;
const CHANGES = /edit|insert|replace|patch|appl|writ|creat|updat|append|renam|mov|delet|chang|copy|checkout|restor/;
/** Tools that may change every file. */
const WHOLE_TREE = /^git(?:checkout|switch|pull|stash|merge|rebase|revert|restore)|^(?:restore|rollback|undo)/;
const TAKES_AWAY = /^(?:delet|remov|mov|renam)\w*(?:dir|folder|path|file)/;
/** A text that is no path of a file here. */
const OTHER = /\s|^https?:/;
const ADDS = /append|insert|patch/;
const READS = /read|view|open|cat|get|show|load|resource/;
/** A shorter answer of a skill, or of a tool that we do not know, only reports that something was done. So does a line of the latter. */
const LEAST_DOCUMENT_CHARS = 80;
/** Where a tool left out the end or the middle of a text. */
const TRUNCATED = /[….[(<][^\n]{0,40}\b(?:truncated|omitted)\b[^\n]{0,60}(?:\s*$|…|\.{3})/i;
/** A line of a file with the number that a tool put before it. */
const NUMBERED = /^ *\d+[→\t](.*)/gm;
/** The home folder, whatever its path. */
const HOME = /^(?:~|\$HOME|\$\{HOME\})\//;
/** Between the paths of one text. */
const AND = ", ";
/** Fields within fields in which a path is looked for. */
const MAX_DEPTH = 5;
/** Longer lists of touched files stand for all. */
const MAX_TOUCHED_CHARS = 2_000;

/** Field names of a tool's input, as different tools call them, in small letters and without marks, the first that has a value first. */
const PATHS =
  "path filepath file filename targetfile absolutepath relativepath relativeworkspacepath uri source destination oldpath newpath";
const PATH_LISTS = "paths files filepaths changes edits";
const FOLDERS = "workdir cwd workingdirectory";
const CONTENTS = "content contents filetext newcontent";
const ANSWER_FIELDS = "content text output stdout";
const OLD = "oldstring oldstr oldtext";
const NEW = "newstring newstr newtext";
const EVERY = "replaceall allowmultiple expectedreplacements";
const COMMANDS = "command cmd commandline commands bash patch patchtext diff input code script chars";
const LISTS = "todos plan todolist items tasks tasklist steps";
const TEXTS = "content step task text title subject description";
const NAMES = "skill name skillname command id";
const SEARCHED = "pattern query regex search";
const FIRST_LINES = "offset startline startlineoneindexed";
const LAST_LINES = "limit endline endlineoneindexedinclusive head tail";

const LIST_NAME = "list of tasks";
const PLAN_NAME = "plan";

type ChangeResult = ReturnType<typeof changeResult>;
type Fields = Readonly<Record<string, unknown>>;

export interface LoadedFrom {
  /** The id of the stored message behind the message of a view. */
  readonly messageId: string;
  /** Names calls as facts do. */
  readonly nameCall: (tool: ToolPart) => string;
}

/** The texts that a message loads, in order. Only an assistant's tools load anything. */
export function readLoaded(message: UIMessage, { messageId, nameCall }: LoadedFrom): readonly Loaded[] {
  if (message.role !== "assistant") return [];
  const loaded = message.parts.flatMap((part) => {
    const tool = toolPart(part);
    if (tool === null) return [];
    const isOpen = !hasResult(tool) || ("preliminary" in tool && tool.preliminary);
    const found = isOpen ? [openCall(tool, nameCall)] : isBareResult(tool) ? [closedCall(tool)] : readTool(tool);
    return found.map((each) => ({ characters: each.text.length, messageId, ...each }));
  });
  return loaded.reduce<readonly Loaded[]>((all, each) => mergeLoaded(all, [each]), []);
}

/** The path of the file that a call wrote, edited or removed. Empty for any other part. */
export function changedFile(part: UIMessage["parts"][number]): string {
  const tool = toolPart(part);
  if (tool?.state !== "output-available" || hasErrorField(tool.output)) return "";
  const name = nameOfTool(tool);
  const input = inputOf(tool);
  if (changeResult(answerOf(tool), pathsIn(input)) === "refused") return "";
  return CHANGES.test(name) && commandIn(input) !== "view" ? (pathsIn(input)[0] ?? "") : "";
}

type Found = Pick<Loaded, "kind" | "name" | "text"> & Partial<Loaded>;

/** The tools of a context block, by what they do to an entry. A text without a key is no entry. */
const ENTRY_TOOLS = new Map<string, (key: string, answer: string) => Found[]>([
  [LOAD_TOOL, (key, answer) => asText("context", key, answer)],
  ["set_context", (key) => (key.endsWith(":") ? [] : [mayDiffer(key, "context")])],
  ["unload_context", (key) => [{ kind: "context", name: key, text: "" }]],
]);

function readTool(tool: ToolPart): Found[] {
  if (tool.state !== "output-available" && tool.state !== "output-error") return [];
  const answer = firstText(fieldsOf(tool.output), ANSWER_FIELDS) || outputText(tool.output);
  const name = nameOfTool(tool);
  const input = inputOf(tool);
  if (tool.state === "output-error" || answer.startsWith(NOT_DONE) || hasErrorField(tool.output))
    return readShell(input, null);
  const entry = ENTRY_TOOLS.get(toolName(tool))?.(contextKey(input), answer);
  if (entry !== undefined) return entry;
  const result = changeResult(answerOf(tool), pathsIn(input));
  const plan = PLAN_TOOL.test(name) ? asText("plan", PLAN_NAME, firstText(input, "plan")) : [];
  if (plan.length > 0) return result === "made" ? plan : plan.map((each) => shownIn(each, ""));
  if (result === "refused" && (LIST_TOOL.test(name) || TASK_TOOL.test(name))) return [];
  if (LIST_TOOL.test(name)) return readList(input, answer);
  if (TASK_TOOL.test(name)) return readTask(input, answer);
  if (SKILL_TOOL.test(name))
    return answer.length < LEAST_DOCUMENT_CHARS ? [] : asRead("skill", nameOf(firstText(input, NAMES)), answer);
  return readFile(name, input, answer, result);
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
  return nameOf(`${firstText(input, "label")}:${firstText(input, "key")}`);
}

/** A tool that was given paths, or a command. */
function readFile(tool: string, input: Fields, answer: string, result: ChangeResult): Found[] {
  const paths = pathsIn(input);
  const isLook = SEARCHES.test(tool) && !CHANGES.test(tool);
  if (paths.some(isInstruction)) return isLook ? [] : readNamed(tool, paths, { input, answer, result });
  if (isLook || result === "refused" || commandIn(input) !== "") return readShell(input, answer);
  if (WHOLE_TREE.test(tool) && paths.length === 0) return touched(["*"]);
  const folders = TAKES_AWAY.test(tool) ? paths.filter((path) => !/\.\w+$/.test(path)) : [];
  // A text of any field may be such a path.
  const isPath = (text: string): boolean => text.length < MAX_CALL_CHARS && !OTHER.test(text) && isInstruction(text);
  return touched([...folders, ...textsIn(input).filter(isPath)].map(baseName));
}

/** Only a whole text replaces the one that is known. A part of a file, a receipt or a refused change leaves that as it is. */
function readNamed(
  tool: string,
  paths: readonly string[],
  { input, answer, result }: { readonly input: Fields; readonly answer: string; readonly result: ChangeResult },
): Found[] {
  const [command, edits, written] = [commandIn(input), editsIn(input), firstText(input, CONTENTS)];
  const isReport = answer.length < LEAST_DOCUMENT_CHARS || !answer.trim().includes("\n") || result === "made";
  const isRead = !isReport || READS.test(tool + command);
  if (edits.length === 0 && written === "" && (command === "view" || !CHANGES.test(tool)) && isRead)
    return readWhole(paths, input, answer);
  if (result === "refused") return [];
  const files = paths.filter(isInstruction);
  const [name = ""] = files;
  if (files.length > 1 || result !== "made") return files.map((each) => mayDiffer(each));
  if (edits.length > 0) return [{ kind: "document", name, text: "", edits }];
  const adds = ADDS.test(tool + command + firstText(input, "mode")) || input["append"] === true;
  if (written.trim() !== "" && !adds) return asText("document", name, written);
  return tool.includes("delet") ? [{ kind: "document", name, text: "" }] : [mayDiffer(name)];
}

/** The text of a read. One that may not be all of it, or that stands beside another, only has to agree with what is known. */
function readWhole(paths: readonly string[], lines: Fields, answer: string): Found[] {
  const files = paths.filter(isInstruction);
  if (files.length === 0) return [];
  const name = files.join(AND);
  const text = plainText(answer);
  const isWholeText = files.length === paths.length && name.length <= MAX_NAME_CHARS && isAll(lines, answer);
  if (isWholeText && !TRUNCATED.test(answer)) return asRead("document", name, text);
  return files.flatMap((file) => asRead("document", file, text)).map((each) => shownIn(each, text));
}

/** Where lines have numbers, other lines are no part of the file. */
function plainText(answer: string): string {
  return /^ *\d+[→\t]/.test(answer) ? [...answer.matchAll(NUMBERED)].map(([, line]) => line).join("\n") : answer;
}

/** What a command showed, unless it failed, and the names of the files that it may have changed. */
function readShell(input: Fields, answer: string | null): Found[] {
  const { shows, lines, changes } = readCommand(commandIn(input), firstText(input, FOLDERS));
  const changed = touched(changes);
  if (answer === null) return changed;
  if (lines !== null) return [...readWhole(shows, lines, answer), ...changed];
  const seen = shows
    .filter(isInstruction)
    .map((name) => ({ kind: "document", name: nameOf(name), text: answer }) as const);
  return [...seen.map((each) => shownIn(each, answer)), ...changed];
}

/** The command of a shell, also in the form of its arguments, or a patch or code. */
function commandIn(input: Fields): string {
  const list = listIn(input, COMMANDS);
  const args = listIn(input, "args arguments") ?? [];
  return [...(list ?? [firstText(input, COMMANDS)]), ...args]
    .map(jsonText)
    .join(Array.isArray(input["commands"]) ? "\n" : " ")
    .trimEnd();
}

/** A file whose text is not known any more. */
function mayDiffer(name: string, kind: Loaded["kind"] = "document"): Found {
  return { kind, name, text: "", edits: [], doubted: true };
}

function touched(names: readonly string[]): Found[] {
  const text = [...new Set(names)].join("\n");
  return names.length === 0 ? [] : [{ kind: "touched", name: "", text: text.length > MAX_TOUCHED_CHARS ? "*" : text }];
}

/** The text of a read, unless it reports that there was none. In doubt it is read again. */
function asRead(kind: Loaded["kind"], name: string, text: string): Found[] {
  const result = readResult(text);
  if (result === "unread") return [];
  return result === "text" ? asText(kind, name, text) : [mayDiffer(name, kind)];
}

/** A part of a text, which does not replace the known text. It confirms that text where that contains the part. */
function shownIn({ kind, name, text, edits }: Found, from: string): Found {
  return { kind, name, text: "", characters: text.length, edits: edits ?? [{ from }] };
}

function pathsIn(input: Fields): string[] {
  const own = (fields: Fields): unknown[] => valuesOf(fields, PATHS);
  const listed = valuesOf(input, PATH_LISTS).flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : Object.keys(Object(list) as object),
  );
  const found = [...own(input), ...listed.flatMap((each) => [each, ...own(fieldsOf(each))])];
  const folder = firstText(input, FOLDERS);
  return [
    ...new Set(found.flatMap((each) => (typeof each === "string" && each !== "" ? nameOf(pathOf(each, folder)) : []))),
  ];
}

function isInstruction(path: string): boolean {
  return INSTRUCTIONS.test(path);
}

/** Whether a read shows the whole file. A read with a limit of lines does where its answer has fewer lines than that. */
function isAll(input: Fields, answer: string): boolean {
  const [from, to] = Array.isArray(input["viewrange"]) ? (input["viewrange"] as readonly unknown[]) : [];
  const firsts = [from, ...valuesOf(input, FIRST_LINES)].map(Number);
  const lasts = [to, ...valuesOf(input, LAST_LINES)].map(Number);
  const lines = answer.trimEnd().split("\n").length;
  return (
    firstText(input, SEARCHED) === "" &&
    !firsts.some((line) => line > 1) &&
    !lasts.some((line) => line > 0 && line <= lines)
  );
}

/** Known only where each edit says what it changes, and into what. */
function editsIn(input: Fields): Edit[] {
  const list: readonly unknown[] = Array.isArray(input["edits"]) ? input["edits"] : [input];
  const edits = list.flatMap((each) => {
    const fields = fieldsOf(each);
    const from = firstText(fields, OLD);
    const to = valuesOf(fields, NEW).find((value) => typeof value === "string");
    const isAll = valuesOf(fields, EVERY).some((value) => value === true || Number(value) > 1);
    return from === "" || to === undefined ? [] : [{ from, to, ...(isAll && { all: true as const }) }];
  });
  return edits.length === list.length ? edits : [];
}

function readList(input: Fields, answer: string): Found[] {
  const list = listIn(input, LISTS);
  if (list === undefined)
    return asText("plan", LIST_NAME, firstText(input, LISTS) || (answer.includes("\n- [") ? answer : ""));
  const tasks = list.flatMap((each) => {
    const fields = fieldsOf(each);
    const text = typeof each === "string" ? each : firstText(fields, TEXTS);
    const id = jsonText(fields["id"]) || text;
    return id === "" ? [] : [{ id, text, status: statusOf(fields) }];
  });
  const found = { kind: "plan", name: LIST_NAME, text: tellTasks(tasks), tasks: tasks.slice(-MAX_TASKS) } as const;
  return [input["merge"] === true ? found : { ...found, replaces: true }];
}

function readTask(input: Fields, answer: string): Found[] {
  const id = firstText(input, "taskid id") || (TASK_NUMBER.exec(answer)?.[1] ?? "");
  if (id === "") return [];
  const tasks = [{ id, text: firstText(input, "subject title"), status: statusOf(input) }];
  return [{ kind: "plan", name: LIST_NAME, text: tellTasks(tasks), tasks }];
}

function statusOf(fields: Fields): string {
  const { completed, done } = fields;
  return firstText(fields, "status state") || (completed === true || done === true ? "completed" : "");
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

function valuesOf(fields: Fields, names: string): unknown[] {
  return names.split(" ").map((name) => fields[name]);
}

/** The texts of all fields, also of inner ones. */
function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return [];
  return Object.values(value).flatMap((each) => textsIn(each, depth + 1));
}

function listIn(fields: Fields, names: string): readonly unknown[] | undefined {
  return valuesOf(fields, names).find((value): value is unknown[] => Array.isArray(value));
}

function firstText(fields: Fields, names: string): string {
  return valuesOf(fields, names).find((value): value is string => typeof value === "string" && value !== "") ?? "";
}

/**
 * The texts after both parts, oldest first: the newest version of each, without calls answered since. It does not matter
 * how parts are grouped, because whatever may touch a file stays in the list.
 */
export function mergeLoaded(earlier: readonly Loaded[], later: readonly Loaded[]): readonly Loaded[] {
  if (later.length === 0) return earlier;
  const standing = new Map(
    earlier.map((each) => [keyOf(each), later.some((other) => touches(other, each)) ? doubted(each) : each]),
  );
  for (const each of later) {
    const key = keyOf(each);
    const before = standing.get(key);
    const now = before === undefined ? each : follow(before, each);
    if (now.messageId === each.messageId) standing.delete(key);
    if (before === undefined || each.kind !== "call" || each.text !== "") standing.set(key, now);
  }
  return bound([...standing.values()]);
}

/** Whether a later entry may be of the same file in another spelling, or of several with it, or may have changed it. */
function touches(later: Loaded, { kind, name }: Loaded): boolean {
  const isSkill = kind === "skill";
  if ((kind !== "document" && !isSkill) || keyOf(later) === keyOf({ kind, name })) return false;
  const paths = isSkill ? [`${name.replace(/.*[:/]/, "")}/SKILL.md`] : name.split(AND);
  if (later.kind === "touched") return later.text.split("\n").some((each) => paths.some((path) => matches(each, path)));
  const isOne = (each: string, path: string): boolean =>
    isSkill ? `/${each}`.endsWith(`/${path}`) : isAlike(each, path);
  return later.kind === "document" && later.name.split(AND).some((each) => paths.some((path) => isOne(each, path)));
}

/** Whether two paths may be one file. A relative one may be any that ends with it, and so may one in the home folder. */
function isAlike(path: string, other: string): boolean {
  const [one, two] = [path.replace(HOME, ""), other.replace(HOME, "")];
  if (isAbsolute(one) === isAbsolute(two)) return one === two;
  return one.endsWith(`/${two}`) || two.endsWith(`/${one}`);
}

function doubted(known: Loaded): Loaded {
  return { ...known, doubted: true };
}

/** True for a text that may have changed and that a newer one stands for. */
export function isReplaced({ kind, name, text }: Loaded, newer: Loaded): boolean {
  if (!isWhole(newer) || newer.kind !== kind) return false;
  const paths = newer.name.split(AND);
  return (text !== "" && text === newer.text) || name.split(AND).every((path) => paths.includes(path));
}

export function keyOf({ kind, name, callId = name }: Pick<Loaded, "kind" | "name" | "callId">): string {
  return `${kind} ${callId}`;
}

/** True for a full text that holds, which is neither a change of a document nor a change of some tasks of a list. */
export function isWhole(each: Pick<Loaded, "kind" | "edits" | "doubted" | "tasks" | "replaces">): boolean {
  const { kind, edits, doubted: isDoubted, tasks, replaces } = each;
  return kind !== "call" && kind !== "touched" && !(edits ?? isDoubted) && (tasks === undefined || replaces === true);
}

/** True for what has no text to show: what shells touched, an emptied list, an unloaded skill or an answered call. */
export function isGone({ kind, text, characters, edits }: Loaded): boolean {
  return kind === "touched" || (text === "" && characters === 0 && edits === undefined);
}

function follow(before: Loaded, later: Loaded): Loaded {
  if (later.edits !== undefined) return edited(before, later, later.edits);
  if (later.kind === "touched")
    return { ...later, ...touched([...before.text.split("\n"), ...later.text.split("\n")])[0] };
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
  // What was only shown changes nothing, so the text keeps its place and its message.
  const isShown = edits.every(({ to }) => to === undefined);
  const known = { ...before, messageId: isShown ? before.messageId : later.messageId };
  const now = before.edits === undefined ? apply(known, edits) : { ...known, edits: [...before.edits, ...edits] };
  return later.doubted ? doubted(now) : now;
}

function apply(known: Loaded, edits: readonly Edit[]): Loaded {
  let { text } = known;
  let isSame = true;
  for (const { from, to = from, all } of edits) {
    const isChange = to !== from;
    if (!(isChange ? text.includes(from) : agrees(text, from))) isSame = false;
    // A function, because the new text may have marks with a meaning in a replacement string.
    else if (isChange) text = all === true ? text.replaceAll(from, () => to) : text.replace(from, () => to);
  }
  const now = text === known.text ? known : { ...known, text, characters: text.length };
  return isSame ? now : doubted(now);
}

/** Whether each piece of what a tool showed is a part of the text, or has all of it. */
function agrees(text: string, shown: string): boolean {
  const whole = text.trim();
  return shown.split(TRUNCATED).every((piece) => whole.includes(piece.trim()) || piece.includes(whole));
}

/** The plan and open calls come first, then the newest documents. Others keep their name without the text. */
function bound(loaded: readonly Loaded[]): readonly Loaded[] {
  let budget = MAX_LOADED_CHARS;
  const kept = new Map<Loaded, Loaded>();
  for (const each of byImportance(loaded).slice(0, MAX_LOADED)) {
    const edits = (each.edits ?? []).reduce((sum, { from, to = "" }) => sum + from.length + to.length, 0);
    const size = each.text.length + edits;
    const fits = size <= budget;
    if (fits) budget -= size;
    kept.set(each, fits ? each : withoutText(each));
  }
  return loaded.flatMap((each) => kept.get(each) ?? []);
}

/** The plan and open calls first, then files and skills, the newest first. */
export function byImportance(loaded: readonly Loaded[]): readonly Loaded[] {
  const isWork = ({ kind }: Loaded): boolean => kind === "plan" || kind === "call" || kind === "touched";
  const newest = loaded.toReversed();
  return [...newest.filter(isWork), ...newest.filter((each) => !isWork(each))];
}

function withoutText({ kind, name, characters, messageId, callId, edits, doubted: isDoubted }: Loaded): Loaded {
  const known = { kind, name, text: "", characters, messageId, ...(callId && { callId }), ...(edits && { edits: [] }) };
  return edits || isDoubted ? doubted(known) : known;
}
