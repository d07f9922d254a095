/**
 * Texts loaded into a conversation that hold until a newer one replaces them: instruction files and skills that a tool read, and the
 * latest plan or task list, whoever left it so.
 *
 * Messages in, {@link Loaded} out, merged part by part, oldest first, and bounded. A file counts where a tool read or wrote the whole of
 * it from a local path. Any other mention that may have changed it withdraws its text, and then only its name is shown.
 */
import type { UIMessage } from "ai";
import {
  type CountTokens,
  changeResult,
  hasErrorField,
  isOfHarness,
  outputText,
  readResult,
  jsonText,
  textsOf,
  toolName,
  toolPart,
  type ToolPart,
} from "../steps/message/message.ts";
import type { Edit, Loaded, Pinned, Task } from "./fact.ts";
import { renderLoaded } from "./render.ts";
import { SKILL } from "./said.ts";

/** The tool of context blocks, and the prefix of an answer that brought no text. */
export const LOAD_TOOL = "load_context";
export const NOT_DONE = "Not done. ";

const MAX_LOADED_CHARS = 100_000;
const MAX_LOADED = 60;
const MAX_NAME_CHARS = 200;
const MAX_PATH_CHARS = 1_000;
const MAX_TASKS = 100;
const LEAST_TEXT_CHARS = 80;

/** Instruction files for agents, by the names that tools look for. */
const INSTRUCTIONS =
  /(?:^|\/)(?:(?:AGENTS(?:\.override)?|CLAUDE(?:\.local)?|GEMINI|QWEN|CRUSH|CONVENTIONS|SKILL|copilot-instructions)\.md|\.(?:cursorrules|windsurfrules|clinerules|goosehints)|\.(?:cursor|clinerules|windsurf|roo|kiro|claude\/rules)\/.+\.mdc?)$|\.instructions\.md$/i;
/** Folders into which a tool puts what others wrote. Their instruction files are meant for those who work on them. */
const OF_OTHERS =
  /(?:^|\/)(?:node_modules|bower_components|vendor|third[_-]party|(?:site|dist)-packages|\.?venv|\.cargo|pkg\/mod|Pods)\//i;
const MENTION = /(?<![\w@~./\\-])[\w@~./\\-]*(?:\.mdc?|rules|hints)\b/gi;
/** A value or a name in JSON that is one word, such as a path. */
const WORD = /"([^"\\\s]{1,200})(?=")/g;
const REMOTE = /^[a-z][a-z0-9+.-]+:\/\/(?!\/)|^https?:|^\/\//i;
/** Names of tools in small letters, without the name of their server and without marks. */
const SKILL_TOOL = /^(?:(?:load|read|use|get|activate|invoke|fetch|open|view)?skill|skills?(?:load|read|view|get))$/;
const LIST_TOOL =
  /^(?:todowrite|(?:write|set|update|manage|create)?todos?(?:list)?|(?:update|set|create|save)plan|tasktracker)$/;
const PLAN_TOOL = /^(?:exitplanmode|createplan|saveplan)$/;
/** Tools of one harness for its agent's own tasks, as it spells them. Any other spelling may mean tasks of somebody else. */
const TASK_TOOL = /^Task(?:Create|Update)$/;
const TASKS_TOOL = /^(?:TaskList|[Tt]odo_?[Rr]ead|read_todos)$/;
const READS = /^(?:(?=\w*read)\w+|view\w*|open(?:file)?|cat|getfile\w*|showfile|loadfile|strreplace\w*)$/;
const NO_FILE =
  /resource|attachment|mail|message|fetch|http|web|url|page|drive|^s3|download|search(?!andreplace|replace)|grep|find(?!andreplace|replace)/;
/** Tools that change no file that they name. Any other may. */
const LOOKS =
  /read|view|show|^get|^git(?:add|diff|log|show|status|blame|commit)|list|stat|exist|info|outline|symbol|glob|tree|lint$|check$|task|agent/;
/** Commands that change no file unless they redirect, and the ones among them that show a whole file. */
const HARMLESS =
  /^(?:cd|pwd|echo|cat|head|tail|less|more|nl|bat|ls|wc|sort|uniq|cut|grep|rg|diff|stat|file|test|true|md5sum|sha\d+sum|git (?:add|commit|diff|log|show|status|push|blame|grep|ls-files|branch|fetch))(?: |$)/;
const SHOWS = /^(?:cd (\S+) ?&& ?)?(?:cat|bat|nl) ["']?([^\s"'|;&>]+)["']?$/;
const STARTS_SHELL = /^\S{0,100}sh -\w{1,9} (["']?)([^]*)\1$/;
const TASK_LINE = /^\s*(?:[-*]\s+)?(?:#?([\w-]+)[.:]?\s+)?\[([\w -]*)\]\s+(.+)$/;
const NUMBERED = /^ *\d+[→\t](.*)/gm;
/** A mark of a tool that did not show all, which a text itself hardly has. */
const TRUNCATED =
  /(?:[[(<…]|\.{3}|\d (?:lines?|char\w*|tokens?|bytes?)) ?[^\n]{0,30}\b(?:truncated|omitted|left out)\b/i;

/** Names of the fields of a tool's input, without marks and in small letters. */
const words = (names: string): readonly string[] => names.split(" ");
const PATHS = words("path filepath file filename targetfile absolutepath relativepath relativeworkspacepath");
const COMMANDS = words("command commands cmd commandline bash script code chars input patch patchtext");
const CONTENTS = words("content contents filetext newcontent");
const OLD = words("oldstring oldstr oldtext");
const NEW = words("newstring newstr newtext");
const MANY = words("replaceall allowmultiple expectedreplacements");
const LISTS = words("todos plan todolist items tasks tasklist steps");
const TEXTS = words("content step task text title subject description");
const PARTS = words("offset limit startline endline startlineoneindexed viewrange pattern query head tail");
/** A file that stands there is somewhere else. */
const ELSEWHERE = words("owner repo repository bucket url uri");
const SKILL_NAMES = words("skill name skillname command id");
const LIST_NAME = "list of tasks";

type Fields = Readonly<Record<string, unknown>>;
type Found = Pick<Loaded, "kind" | "name" | "text"> & Partial<Loaded>;

/**
 * The texts that a message loads, in order. An assistant's tools load them, and a harness that puts the text of a skill into a message of its
 * own. `skill` is the one that was called last, where its text has not come yet.
 */
export function readLoaded(message: UIMessage, messageId: string, skill = ""): readonly Loaded[] {
  const isTold = message.role === "user" && isOfHarness(message, ["isMeta"]);
  const found = isTold
    ? readSkill(textsOf(message.parts).join("\n").trim(), skill)
    : toolsOf(message).flatMap(readTool);
  const told = found.map((each): Loaded => ({
    characters: each.text.length,
    messageId,
    ...each,
    name: each.name.slice(-MAX_NAME_CHARS),
  }));
  return mergeLoaded([], told);
}

function toolsOf({ role, parts }: UIMessage): ToolPart[] {
  return role === "assistant" ? parts.flatMap((part) => toolPart(part) ?? []) : [];
}

function readSkill(text: string, called: string): Found[] {
  const folder = tidy(SKILL.exec(text)?.[1]?.trim() ?? "");
  const name = folder === "" ? called : (folder.split("/").findLast((each) => each !== "") ?? "");
  return name === "" || text.length < LEAST_TEXT_CHARS || text.startsWith("<") ? [] : asText("skill", name, text);
}

/** The skills that a message calls without an answer that brings their texts. */
export function calledSkills(message: UIMessage): string[] {
  const calls = toolsOf(message).filter((tool) => SKILL_TOOL.test(plainName(tool)) && readTool(tool).length === 0);
  return calls.map(({ input }) => firstOf(fieldsOf(input), SKILL_NAMES)).filter((name) => name !== "");
}

function readTool(tool: ToolPart): Found[] {
  const input = fieldsOf(typeof tool.input === "string" ? { input: tool.input } : tool.input);
  // A command that failed may have done a part of its work.
  if (tool.state === "output-error") return mentioned("", input);
  if (tool.state !== "output-available" || ("preliminary" in tool && tool.preliminary)) return [];
  const name = plainName(tool);
  const output = fieldsOf(tool.output);
  const answer =
    firstOf(output, ["content", "text", "output", "stdout"]) || outputText(output["contents"] ?? tool.output);
  const failed = answer.startsWith(NOT_DONE) || hasErrorField(tool.output);
  if (failed) return [];
  if (/^(?:un)?load_context$|^set_context$/.test(toolName(tool))) return readContext(toolName(tool), input, answer);
  const planned = readPlan(tool, input, answer);
  if (planned !== null) return planned;
  if (!SKILL_TOOL.test(name)) return readFile(name, input, answer);
  // A shorter answer only reports that something was done.
  const isText = answer.length >= LEAST_TEXT_CHARS && readResult(answer) === "text";
  const skill = firstOf(input, SKILL_NAMES);
  return isText && skill !== "" ? asText("skill", skill, answer) : [];
}

function readContext(tool: string, input: Fields, answer: string): Found[] {
  const key = `${firstOf(input, ["label"])}:${firstOf(input, ["key"])}`;
  if (tool === LOAD_TOOL) return asText("context", key, answer);
  if (tool === "unload_context") return [{ kind: "context", name: key, text: "" }];
  return key.endsWith(":") ? [] : [unknown("context", key)];
}

/** What the harness's own tools say of the plan and of tasks. Null for any other tool, as one of a server, whose tasks are not the agent's. */
function readPlan(tool: ToolPart, input: Fields, answer: string): Found[] | null {
  const [written, name] = [toolName(tool), plainName(tool)];
  if (written.includes("__")) return null;
  if (PLAN_TOOL.test(name) && changeResult(answer, []) !== "refused")
    return asText("plan", "plan", firstOf(input, ["plan"]));
  if (LIST_TOOL.test(name)) return readList(input, answer);
  if (TASK_TOOL.test(written)) return readTask(input, answer);
  return TASKS_TOOL.test(written) ? readTasks(answer) : null;
}

function readFile(tool: string, input: Fields, answer: string): Found[] {
  const [, folder = "", shown = ""] = SHOWS.exec(commandOf(input)) ?? [];
  if (shown !== "") return readWhole(folder === "" || shown.startsWith("/") ? shown : `${folder}/${shown}`, answer);
  const path = pathOf(input);
  if (!isInstruction(path) || NO_FILE.test(tool)) return mentioned(tool, input);
  const [edits, action] = [editsOf(input), plain(firstOf(input, ["command"]))];
  const written = CONTENTS.map((name) => input[name]).find((value) => typeof value === "string");
  const isRead =
    edits.length === 0 && written === undefined && READS.test(tool) && (action === "" || READS.test(action));
  const isWhole = PARTS.every((field) => (input[field] ?? 0) === 0);
  if (isRead) return isWhole ? readWhole(path, answer) : [];
  if (LOOKS.test(tool) && action === "") return [];
  const isPart = /append|insert/.test(tool + action) || input["append"] === true;
  return changeFile(path, answer, { edits, written: isPart || written === undefined ? "" : written });
}

function changeFile(
  path: string,
  answer: string,
  { edits, written }: { edits: readonly Edit[]; written: string },
): Found[] {
  const made = changeResult(answer, [path]);
  if (made === "refused") return [];
  if (made === "made" && edits.length > 0) return [{ kind: "document", name: path, text: "", edits }];
  return made === "made" && written.trim() !== "" ? asText("document", path, written) : [unknown("document", path)];
}

/** What a tool showed of a whole file. */
function readWhole(shown: string, answer: string): Found[] {
  const path = tidy(shown);
  const result = readResult(answer);
  if (!isInstruction(path) || result === "unread" || TRUNCATED.test(answer)) return [];
  return result === "text" ? asText("document", path, numbersOff(answer)) : [unknown("document", path)];
}

/** The instruction files that a tool names in a command or as a path, where it may have changed them. */
function mentioned(tool: string, input: Fields): Found[] {
  const command = commandOf(input);
  const looks = NO_FILE.test(tool) || LOOKS.test(tool);
  const named = isHarmless(command) ? [] : (command.match(MENTION) ?? []);
  const paths = [
    ...named,
    ...(looks || tool === "" ? [] : [...jsonText(input).matchAll(WORD)].map(([, word = ""]) => word)),
  ].map(tidy);
  const files = [...new Set(paths)].filter(isInstruction).slice(-MAX_LOADED);
  return files.map((each) => unknown("document", each));
}

/** Whether each command of a line only shows something. A redirection or a word that is not known may do more. */
function isHarmless(command: string): boolean {
  if (/>/.test(command.replaceAll(/2> ?(?:&1|\/dev\/null)/g, ""))) return false;
  return command.split(/&&|\|\|?|;|\n/).every((part) => part.trim() === "" || HARMLESS.test(part.trim()));
}

/** The local file that a tool is given. Empty where it stands elsewhere. */
function pathOf(input: Fields): string {
  return ELSEWHERE.some((field) => input[field] !== undefined) ? "" : tidy(firstOf(input, PATHS));
}

const isInstruction = (path: string): boolean =>
  path.length <= MAX_PATH_CHARS && INSTRUCTIONS.test(path) && !REMOTE.test(path) && !OF_OTHERS.test(path);

/** A path with slashes and without steps. */
function tidy(path: string): string {
  const plainPath = path.replace(/^file:\/\//, "").replaceAll(/\\+/g, "/");
  return plainPath.replaceAll(/(?<=^|\/)(?:\.|(?!\.\.\/)[^/]+\/\.\.)\//g, "");
}

/** The command of a shell, also where it is given as a list or a shell starts a shell. */
function commandOf(input: Fields): string {
  const value = COMMANDS.map((name) => input[name]).find((each) => each !== undefined);
  const words = [value, input["args"]].flatMap((each) => (Array.isArray(each) ? each.map(jsonText) : [jsonText(each)]));
  const command = words
    .filter((word) => word !== "")
    .join(" ")
    .replaceAll(/[ \t]+/g, " ")
    .trim();
  return command
    .replace(STARTS_SHELL, "$2")
    .replace(/ ?2> ?\/dev\/null$/, "")
    .trim();
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
    return from === "" || to === undefined
      ? []
      : [{ from, to, all: MANY.some((name) => fields[name] === true || Number(fields[name]) > 1) }];
  });
  return edits.length === list.length ? edits : [];
}

function readList(input: Fields, answer: string): Found[] {
  const list = LISTS.map((name) => input[name]).find((value): value is unknown[] => Array.isArray(value));
  if (list === undefined) return [firstOf(input, LISTS), answer].map(readTasks).find((found) => found.length > 0) ?? [];
  const tasks = list.flatMap((each) => {
    const fields = fieldsOf(each);
    const [text, status] = [firstOf(fields, TEXTS), statusOf(fields)];
    const id = jsonText(fields["id"]) || text;
    return id === "" || status === "" ? [] : [{ id, text, status }];
  });
  // Tasks that say nothing of where they stand are no agent's list of its own work.
  if (tasks.length < list.length) return [];
  const told = { kind: "plan", name: LIST_NAME } as const;
  return [input["merge"] === true ? { ...told, text: "", tasks } : { ...told, text: tellTasks(tasks) }];
}

function readTask(input: Fields, answer: string): Found[] {
  const id = firstOf(input, ["taskid", "id"]) || (/#(\d+)/.exec(answer)?.[1] ?? "");
  if (id === "" || changeResult(answer, []) === "refused") return [];
  const task = { id, text: firstOf(input, ["subject", "title"]), status: statusOf(input) };
  return [{ kind: "plan", name: LIST_NAME, text: "", tasks: [task] }];
}

/** What a tool says that the list is. */
function readTasks(text: string): Found[] {
  return listed(text).length > 0 ? asText("plan", LIST_NAME, text.trim()) : [];
}

function statusOf(fields: Fields): string {
  const isDone = [fields["completed"], fields["done"]].find((each) => typeof each === "boolean");
  return firstOf(fields, ["status", "state"]) || (isDone === undefined ? "" : isDone ? "completed" : "pending");
}

function tellTasks(tasks: readonly Task[]): string {
  return tasks.slice(-MAX_TASKS).map(tellTask).join("\n");
}

function tellTask({ id, text, status }: Task): string {
  const number = /^[\w-]+$/.test(id) && id !== text ? `#${id} ` : "";
  return `- ${number}[${status || "pending"}] ${text.replaceAll(/\s+/g, " ")}`;
}

/** The lines of a list by the ids of their tasks. A line without one is its own id. */
function listed(text: string): Task[] {
  return text.split("\n").flatMap((line) => {
    const [, id, status = "", rest] = TASK_LINE.exec(line) ?? [];
    return rest === undefined ? [] : [{ id: id ?? rest, text: rest, status }];
  });
}

const unknown = (kind: Loaded["kind"], name: string): Found => ({ kind, name, text: "", doubted: true });

function asText(kind: Loaded["kind"], name: string, text: string): Found[] {
  return text.trim() === "" ? [] : [{ kind, name, text }];
}

function fieldsOf(value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [plain(name), each]));
}

function plainName(tool: ToolPart): string {
  return plain(toolName(tool).replace(/^.*__/, ""));
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
    const before = standing.find((other) => other.kind === each.kind && other.name === each.name);
    const others = standing.filter((other) => other !== before);
    // A path may mean another one that ends like it, which then may have changed.
    const doubted = others.map((other) =>
      isSameText(other, each) ? { ...unsure(other), doubted: true as const } : other,
    );
    standing = [...doubted, before === undefined ? each : follow(before, each)];
    // One message may load thousands of texts.
    if (standing.length > 2 * MAX_LOADED) standing = [...bound(standing)];
  }
  return bound(standing);
}

function unsure({ edits: _edits, ...rest }: Loaded): Loaded {
  return { ...rest, text: "" };
}

function isSameText(one: Loaded, other: Loaded): boolean {
  if (one.kind !== other.kind || one.kind !== "document") return false;
  const [a, b] = [one.name, other.name].map((name) => name.replace(/^(?:~|\$\{?HOME\}?)\//, ""));
  return a === b || a?.endsWith(`/${b}`) === true || b?.endsWith(`/${a}`) === true;
}

function follow(before: Loaded, later: Loaded): Loaded {
  if (later.tasks !== undefined) {
    if (before.text === "" && before.tasks !== undefined)
      return { ...later, tasks: mergeTasks(before.tasks, later.tasks) };
    const text = tellTasks(mergeTasks(listed(before.text), later.tasks));
    return { kind: later.kind, name: later.name, text, characters: text.length, messageId: later.messageId };
  }
  if (later.edits === undefined) return later;
  if (before.edits !== undefined)
    return { ...before, messageId: later.messageId, edits: [...before.edits, ...later.edits] };
  let { text } = before;
  for (const { from, to, all } of later.edits) {
    if (before.doubted === true || !text.includes(from)) return { ...unsure(later), doubted: true };
    // A function, because the new text may have marks with a meaning in a replacement string.
    text = all ? text.replaceAll(from, () => to) : text.replace(from, () => to);
  }
  return { kind: before.kind, name: before.name, text, characters: text.length, messageId: later.messageId };
}

function mergeTasks(known: readonly Task[], changed: readonly Task[]): Task[] {
  const tasks = new Map(known.map((task) => [task.id, task]));
  for (const { id, text, status } of changed) {
    const before = tasks.get(id) ?? { text: "", status: "" };
    tasks.set(id, { id, text: text || before.text, status: status || before.status });
  }
  return [...tasks.values()];
}

/** The plan first, then the newest. Others keep their name alone. */
function bound(loaded: readonly Loaded[]): readonly Loaded[] {
  let left = MAX_LOADED_CHARS;
  const kept = new Map<Loaded, Loaded>();
  for (const each of byImportance(loaded).slice(0, MAX_LOADED)) {
    const size = each.text.length + JSON.stringify(each.edits ?? []).length;
    kept.set(each, size <= left ? each : { ...unsure(each), ...(each.edits && { doubted: true as const }) });
    if (size <= left) left -= size;
  }
  return loaded.flatMap((each) => kept.get(each) ?? []);
}

function byImportance(loaded: readonly Loaded[]): readonly Loaded[] {
  const newest = loaded.toReversed();
  return [...newest.filter(({ kind }) => kind === "plan"), ...newest.filter(({ kind }) => kind !== "plan")];
}

/** A list of which only single tasks are known. */
function withTasks(each: Loaded): Loaded {
  const text =
    each.tasks === undefined || each.text !== "" ? each.text : tellTasks(each.tasks.filter((task) => task.text !== ""));
  return { ...each, text, characters: text === each.text ? each.characters : text.length };
}

/** What tools call a task that nobody works on any more. */
const OVER = /^(?:x|done|completed?|finished|closed|cancell?ed|deleted|removed|skipped)$/i;

/** Whether a list of tasks has an end behind each, so that nothing of it holds. */
function isFinished({ name, text }: Loaded): boolean {
  const tasks = name === LIST_NAME ? listed(text) : [];
  return tasks.length > 0 && tasks.every(({ status }) => OVER.test(status));
}

/** The most texts that are only named. */
const MAX_NAMED = 12;

/** The plan comes first, then files and skills, the newest first. A text without room is only named. */
export function pickLoaded(
  loaded: readonly Loaded[],
  { budgetTokens, countTokens }: { readonly budgetTokens: number; readonly countTokens: CountTokens },
): Pinned["loaded"] {
  const present = loaded
    .filter(
      (each, at) =>
        !each.doubted || !loaded.some((other, place) => place > at && !other.doubted && isSameText(each, other)),
    )
    // Nothing is known of changes of a text alone, and an entry without text was put away.
    .map((each) => (each.doubted || each.edits ? { ...each, text: "", characters: 0 } : withTasks(each)))
    .filter((each) => each.text !== "" || each.characters > 0 || each.doubted || each.edits)
    .filter((each) => !isFinished(each));
  const queue = byImportance(present);
  const shown: Loaded[] = [];
  const pin = (some: readonly Loaded[]): Pinned["loaded"] => {
    const named = new Set(queue.filter((each) => !some.includes(each)).slice(0, MAX_NAMED));
    const told = present
      .filter((each) => some.includes(each) || named.has(each))
      .map((each) => (named.has(each) ? { ...each, text: "" } : each));
    return told.map(({ kind, name, text, characters, messageId }) => ({ kind, name, text, characters, messageId }));
  };
  const fits = (some: readonly Loaded[]): boolean => countTokens(renderLoaded(pin(some))) <= budgetTokens;
  if (!fits([])) return [];
  for (const each of queue) if (each.text !== "" && fits([...shown, each])) shown.push(each);
  return pin(shown);
}
