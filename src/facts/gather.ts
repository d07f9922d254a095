/**
 * Gathers the facts of one chunk's messages.
 *
 * Messages in, {@link Facts} out. It does not trust text of tools or models. Rules are read only from the text of a
 * user's message, outside tool parts and summaries. All other text is only searched for names. Every value is a slice
 * of its message. Its time is linear in the text.
 */
import type { UIMessage } from "ai";
import { MAX_FACT_CHARS, MAX_RULE_CHARS, MAX_TASKS } from "../limits.ts";
import { wholeCharacters } from "../steps/draft/render.ts";
import { isIntroduction, isLabel, isNarration, isQuestion, isRequest, isTodo } from "../steps/text/cues.ts";
import { DENSE_SCRIPT, looksLikeData } from "./rules/constraints.ts";
import { gatherWords, type Words } from "./names/table.ts";
import { splitSentences } from "../steps/text/sentences.ts";
import {
  fieldText,
  hasResult,
  innerParts,
  jsonText,
  toolName,
  toolPart,
  type Part,
  type ToolPart,
} from "../steps/message/tool-parts.ts";
import { isSummaryRecord, isSummary, recordedRules, storedId } from "../steps/view/view.ts";
import { NO_FACTS, QUESTION, type Fact, type FactKind, type Facts } from "./fact.ts";
import { changedFile, readLoaded } from "./loaded.ts";
import { findRules } from "./rules/rules-in-force.ts";
import { addRules, boundRules, mergeFacts, tasksSettledBy } from "./merge.ts";
import { readPinnedRules } from "./render.ts";

/** The author of a text in a message. Reasoning counts as an output, because its result is in the reply. */
type Author = "user" | "assistant" | "call" | "output";

interface Saying {
  readonly by: Author;
  readonly text: string;
}

/** A call that ended. `error` is null when it worked. */
interface CallOutcome {
  readonly call: string;
  readonly error: string | null;
}

type MakeFact = (kind: FactKind, value: string, more?: Partial<Fact>) => Fact;

/** A line of an error that tells the fault. */
const TELLING_LINE = /error|exception|fail|cannot|can't|denied|refused|not found|no such|invalid|unknown|timed? ?out/i;
/** A field of an answer in JSON. */
const FIELD = /^"\w+":/;
/** Lines of an error that are read. The fault stands near its start. */
const ERROR_LINES = 40;
/** Characters of a call's first argument that distinguish it from other calls. */
const CALL_CHARS = 100;

/** The facts of `messages`, oldest first, bounded by src/limits.ts. Never throws on a message that could be stored. */
export function gatherFacts(messages: readonly UIMessage[]): Facts {
  const calls = new Map<string, string>();
  return mergeFacts(messages.map((message) => readMessage(message, calls)));
}

/**
 * The rules in force after `messages`, oldest first. They come from users' words outside summaries, and from rules
 * pinned beside summaries, which were users' words once.
 */
export function gatherRules(messages: readonly UIMessage[]): readonly Fact[] {
  return messages.reduce((earlier, message) => boundRules(addRules(earlier, rulesIn(message))), [] as readonly Fact[]);
}

function rulesIn(message: UIMessage): readonly Fact[] {
  if (isSummary(message)) {
    const [part] = message.parts;
    const pinned = part?.type === "text" ? readPinnedRules(fieldText(part.text)) : [];
    return pinned.map((rule) => ({ ...rule, age: 0 }));
  }
  const asked =
    message.role === "user" ? message.parts : message.parts.filter(({ type }) => type === "steering-message");
  const messageId = storedId(message.id);
  return readRules(
    asked.flatMap((part) => readPart(part, "user")),
    (kind, value, more) => ({ kind, value, messageId, age: 0, ...more }),
  );
}

function readMessage(message: UIMessage, calls: Map<string, string>): Facts {
  const messageId = storedId(message.id);
  const fact: MakeFact = (kind, value, more) => ({ kind, value, messageId, age: 0, ...more });
  const sayings = readSayings(message);
  const outcomes = message.parts.flatMap((part) => readOutcome(part, calls));
  return {
    ...readTurn(message, sayings),
    rules: isSummaryRecord(message) ? readRecorded(message, fact) : readRules(sayings, fact),
    words: namesIn(sayings),
    failures: outcomes.flatMap(({ call, error }) => (error === null ? [] : [fact("failure", error, { about: call })])),
    changed: message.parts.flatMap((part) => {
      const path = changedFile(part);
      return path === "" ? [] : [fact("change", path)];
    }),
    loaded: isSummary(message) ? [] : readLoaded(message, { messageId, nameCall }),
    worked: outcomes.flatMap(({ call, error }) => (error === null ? [call] : [])),
  };
}

/** What earlier tasks are about that the messages settle. */
export function settledIn(messages: readonly UIMessage[]): ReadonlySet<string | undefined> {
  return tasksSettledBy(mergeFacts(messages.map((message) => readTurn(message, readSayings(message)))));
}

/** What a message says is to be done, and how it begins and ends. */
function readTurn(message: UIMessage, sayings: readonly Saying[]): Facts {
  const { id, role, parts } = message;
  const fact: MakeFact = (kind, value, more) => ({ kind, value, messageId: storedId(id), age: 0, ...more });
  const last = parts.findLast((part) => part.type === "text" || toolPart(part) !== null);
  const answers = role === "assistant" && last?.type === "text" && !isQuestion(fieldText(last.text).trim());
  return { ...NO_FACTS, messages: 1, tasks: readTasks(sayings, fact), goesOn: role === "user", answers };
}

/** The texts of a message with their authors. Text of a system message or a summary counts as a tool's output. */
export function readSayings(message: UIMessage): Saying[] {
  const speaker = isSummary(message) || message.role === "system" ? "output" : message.role;
  return message.parts.flatMap((part) => readPart(part, speaker));
}

/** The words of a message that name something. */
export function wordsOf(message: UIMessage): Words {
  return namesIn(readSayings(message));
}

function namesIn(sayings: readonly Saying[]): Words {
  return gatherWords(sayings.map(({ by, text }) => ({ written: by !== "output", text })));
}

function readPart(part: Part, speaker: Author): Saying[] {
  const tool = toolPart(part);
  if (tool !== null) {
    const asked: Saying = { by: "call", text: stringsOf(tool.input, "with-keys") };
    if (!hasResult(tool)) return [asked];
    return [asked, { by: "output", text: stringsOf(tool.errorText ?? tool.output, "with-keys") }];
  }
  if (part.type === "text") return [{ by: speaker, text: fieldText(part.text) }];
  if (part.type === "reasoning") return [{ by: "output", text: fieldText(part.text) }];
  if (part.type === "file") return [{ by: "output", text: fieldText(part.filename) }];
  if (part.type === "steering-message") return innerParts(part).flatMap((each) => readPart(each, "user"));
  return [];
}

/** The leaves of a value, one per line, because the marks and escapes of JSON are no part of a name. */
function stringsOf(value: unknown, keys?: "with-keys"): string {
  if (typeof value !== "object" || value === null) return jsonText(value ?? undefined);
  const lines: string[] = [];
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const each = waiting.pop();
    if (typeof each === "object" && each !== null) {
      if (keys === "with-keys" && !Array.isArray(each)) lines.push(Object.keys(each).join(" "));
      for (const inner of Object.values(each).toReversed()) waiting.push(inner);
    } else lines.push(fieldText(each));
  }
  return lines.join("\n");
}

/** A record at the start of a session has no author, but it brings the rules that were pinned beside its summary. */
function readRecorded(message: UIMessage, fact: MakeFact): readonly Fact[] {
  const rules = recordedRules(message).filter(({ value }) => value.length <= MAX_RULE_CHARS);
  return addRules([], boundRules(rules.map(({ value, messageId }) => fact("rule", value, { messageId }))));
}

/** Only the first text of a message may take a rule back. Other texts may be files that a client attached. */
function readRules(sayings: readonly Saying[], fact: MakeFact): readonly Fact[] {
  const texts = sayings.filter(({ by, text }) => by === "user" && text.trim() !== "");
  const rules = texts.flatMap(({ text: said }, at) =>
    findRules(said)
      .filter(({ text }) => text.length <= MAX_RULE_CHARS)
      .map(({ text, revises }) => fact("rule", text, revises && at === 0 ? { revises } : {})),
  );
  return addRules([], boundRules(rules));
}

/** The user's requests and questions, and the assistant's open work. merge.ts says which of them later ones replace. */
function readTasks(sayings: readonly Saying[], fact: MakeFact): Fact[] {
  const tasks = sayings.flatMap(({ by, text }) => {
    if (by !== "user" && by !== "assistant") return [];
    const open = splitSentences(text).filter(({ text: sentence }) => {
      const words = sentence.includes(" ") || DENSE_SCRIPT.test(sentence);
      if (sentence.length > MAX_RULE_CHARS || !words || isIntroduction(sentence)) return false;
      if (by === "assistant") return isTodo(sentence) && !isNarration(sentence) && !FIELD.test(sentence);
      return isQuestion(sentence) || (isRequest(sentence) && !isLabel(sentence));
    });
    return open.map(({ text: sentence }) =>
      fact("task", sentence, { about: by === "user" && !isRequest(sentence) ? QUESTION : by }),
    );
  });
  return tasks.slice(-MAX_TASKS);
}

function readOutcome(part: Part, calls: Map<string, string>): CallOutcome[] {
  const tool = toolPart(part);
  if (tool === null) return [];
  if (tool.input !== undefined) calls.set(tool.toolCallId, nameCall(tool));
  if (!hasResult(tool)) return [];
  const call = calls.get(tool.toolCallId) ?? toolName(tool);
  if (tool.state !== "output-error") return [{ call, error: null }];
  const error = tellingLine(fieldText(tool.errorText));
  return error === null ? [] : [{ call, error }];
}

function nameCall(tool: ToolPart): string {
  const [first = ""] = stringsOf(tool.input).split("\n", 1);
  return `${toolName(tool)} ${wholeStart(first, CALL_CHARS)}`;
}

/** The first line that tells the fault. Null where none does, for example when the call was aborted. */
function tellingLine(error: string): string | null {
  const lines = error.split("\n", ERROR_LINES).map((line) => wholeStart(line.trim(), MAX_FACT_CHARS));
  return lines.find((line) => TELLING_LINE.test(line) && !looksLikeData(line)) ?? null;
}

/** At most so many characters from the start, cut between words where possible, and never inside a surrogate pair. */
function wholeStart(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const start = wholeCharacters(text, 0, characters);
  const blank = start.lastIndexOf(" ");
  return blank > characters / 2 ? start.slice(0, blank) : start;
}
