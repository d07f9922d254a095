/**
 * The blocks as tools of a model, and which of the texts that it loaded a view shows.
 *
 * A tool answers every expected failure instead of throwing. The model learns the problem and its options, and the caller gets the same as
 * a typed error. Only a bug here throws.
 */
import { tool, type ToolSet, type UIMessage } from "ai";
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import { LOAD_TOOL, NOT_DONE } from "../facts/loaded.ts";
import { carriedDocuments } from "../facts/render.ts";
import { MAX_ENTRY_KEY_CHARS, SKILL_DESCRIPTION_CHARS } from "../limits.ts";
import { toolName, toolPart, type Part } from "../steps/message/message.ts";
import type { Declared } from "./declared.ts";
import { plainLine, renderFill, type ContextBlock } from "./render.ts";

type ToolBlock = Pick<Declared, "config" | "shape">;

/** An entry under a key. The description is for providers that list their entries. */
export interface BlockEntry {
  readonly key: string;
  readonly content: string;
  readonly description?: string | undefined;
}

/** What the tools do with a session's blocks. */
interface ToolBlocks {
  replaceContextBlock(label: string, content: string): Promise<ContextBlock>;
  appendContextBlock(label: string, text: string): Promise<ContextBlock>;
  setContextEntry(label: string, entry: BlockEntry): Promise<void>;
  searchContext(label: string, query: string): Promise<string | null>;
  loadSkill(label: string, key: string): Promise<string>;
  unloadSkill(label: string, key: string): Promise<boolean>;
}

export interface ToolTarget {
  /** Read at each call, because a tool may outlive the session that it was made for. */
  readonly blocks: () => ToolBlocks;
  /** Never throws. */
  readonly onError: (error: PalimpsestError) => void;
}

/** Returns the tools among `set_context`, `load_context`, `unload_context` and `search_context` that one of the blocks can use. */
export function contextTools(blocks: readonly ToolBlock[], target: ToolTarget): ToolSet {
  const writable = blocks.filter(({ shape }) => shape.writable);
  const loadable = blocks.filter(({ shape }) => shape.kind === "loadable");
  const searchable = blocks.filter(({ shape }) => shape.searchable);
  return {
    ...(writable.length > 0 && { set_context: setTool(writable, target) }),
    ...(loadable.length > 0 && {
      [LOAD_TOOL]: loadTool(loadable, target),
      unload_context: unloadTool(loadable, target),
    }),
    ...(searchable.length > 0 && { search_context: searchTool(searchable, target) }),
  };
}

function setTool(writable: readonly ToolBlock[], target: ToolTarget) {
  return tool({
    description: `Writes to a block of your context. It is kept beyond this conversation turn.\n${list(writable)}`,
    inputSchema: setInput(writable),
    execute: (input) => answer(target, () => set(input, target)),
  });
}

/** Returns only the fields that one of the blocks can use. */
function setInput(writable: readonly ToolBlock[]): z.ZodType<SetInput> {
  const either = z.object({ label: labelOf(writable), content: z.string().describe("The text to write.") });
  const plain = writable.every(({ shape }) => shape.keyed)
    ? either
    : either.extend({ action: z.enum(["replace", "append"]).optional().describe(ACTION_HELP) });
  if (!writable.some(({ shape }) => shape.keyed)) return plain;
  return plain.extend({
    key: z.string().max(MAX_ENTRY_KEY_CHARS).optional().describe(KEY_HELP),
    description: z.string().max(SKILL_DESCRIPTION_CHARS).optional().describe(DESCRIPTION_HELP),
  });
}

const ACTION_HELP =
  "replace (the default) writes the whole text anew; append adds to its end. Leave it out with a key.";
const KEY_HELP = "Only for keyed blocks: the entry's name. The same key replaces the entry.";
const DESCRIPTION_HELP = "Only for keyed blocks: what the entry is about, in a line.";

interface SetInput {
  readonly label: string;
  readonly content: string;
  readonly action?: "replace" | "append" | undefined;
  /** Models send an empty text for a field that they mean to leave out. */
  readonly key?: string | undefined;
  readonly description?: string | undefined;
}

async function set(input: SetInput, target: ToolTarget): Promise<string> {
  const { label, content, action, key, description } = input;
  const blocks = target.blocks();
  if (key === undefined || key === "") {
    const append = action === "append";
    const block = await (append
      ? blocks.appendContextBlock(label, content)
      : blocks.replaceContextBlock(label, content));
    return `Written to "${label}"${fillOf(block)}. The system prompt shows it when it is next refreshed.`;
  }
  // An entry has no append. Taken as a replace, it would lose text that the model means to keep.
  if (action === "append") {
    throw new PalimpsestError(
      "invalid_input",
      "With a key, the text replaces the entry whole: give all of it, and leave action out.",
    );
  }
  const entry = description === undefined || description === "" ? { key, content } : { key, content, description };
  await blocks.setContextEntry(label, entry);
  return `Written to "${key}" in "${label}".`;
}

function loadTool(loadable: readonly ToolBlock[], target: ToolTarget) {
  return tool({
    description: `Reads one entry of a block whole. The system prompt lists the keys.\n${list(loadable)}`,
    inputSchema: z.object({ label: labelOf(loadable), key: keyOf() }),
    execute: ({ label, key }) => answer(target, () => target.blocks().loadSkill(label, key)),
  });
}

function unloadTool(loadable: readonly ToolBlock[], target: ToolTarget) {
  return tool({
    description: `Takes an entry that you no longer need out of your context, which makes room. It can be loaded again.`,
    inputSchema: z.object({ label: labelOf(loadable), key: keyOf() }),
    execute: ({ label, key }) =>
      answer(target, async () =>
        (await target.blocks().unloadSkill(label, key))
          ? `Unloaded "${key}".`
          : `"${key}" of "${label}" was not loaded.`,
      ),
  });
}

function searchTool(searchable: readonly ToolBlock[], target: ToolTarget) {
  return tool({
    description: `Finds entries of a block by their words.\n${list(searchable)}`,
    inputSchema: z.object({
      label: labelOf(searchable),
      query: z.string().min(1).describe('Words that must all occur; "quoted words" must occur side by side.'),
    }),
    execute: ({ label, query }) =>
      answer(target, async () => {
        const found = await target.blocks().searchContext(label, query);
        return found === null || found === "" ? `Nothing in "${label}" matches. Try fewer or other words.` : found;
      }),
  });
}

async function answer({ onError }: ToolTarget, work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PalimpsestError)) throw error;
    onError(error);
    return NOT_DONE + error.message.replace(`[${error.code}] `, "");
  }
}

function fillOf({ tokens, maxTokens }: ContextBlock): string {
  return maxTokens === undefined ? "" : `, which is now at ${renderFill(tokens, maxTokens)}`;
}

function labelOf(blocks: readonly ToolBlock[]) {
  return z.enum(blocks.map(({ config }) => config.label)).describe("The block's label.");
}

function keyOf() {
  return z.string().min(1).max(MAX_ENTRY_KEY_CHARS).describe("The entry's key.");
}

function list(blocks: readonly ToolBlock[]): string {
  const lines = blocks.map(({ config: { label, description, maxTokens }, shape: { keyed } }) => {
    const bound = maxTokens === undefined ? "" : `, at most ${maxTokens} tokens${keyed ? " an entry" : ""}`;
    return `- "${label}" (${keyed ? "keyed entries" : "one text"}${bound})${description === undefined ? "" : `: ${plainLine(description)}`}`;
  });
  return `Blocks:\n${lines.join("\n")}`;
}

/** Returns `label:key`. It is unambiguous, because a label has no colon. */
export function skillName(label: string, key: string): string {
  return `${label}:${key}`;
}

/**
 * Returns the messages with each loaded text once, where it was loaded last, and a short note in place of every other.
 *
 * The stored messages stay as they are (M1), so a text returns when it is loaded again. A text from an import, or from a caller's tool with
 * the same name, is no skill of this session and stays. What a summary carries is known from its metadata, which only our own messages
 * have, and never from its text.
 *
 * @param skills by name, as {@link skillName} makes it. True for a loaded skill, and false for one that was unloaded again.
 */
export function hideUnloadedSkills(messages: readonly UIMessage[], skills: ReadonlyMap<string, boolean>): UIMessage[] {
  if (skills.size === 0) return [...messages];
  const shown = new Set<string>();
  // Goes from the newest to the oldest, so that the newest text of a name stays.
  const newestFirst = messages.toReversed().map((message) => {
    for (const name of carriedDocuments(message)) shown.add(name);
    if (message.role !== "assistant") return message;
    const notes = message.parts.toReversed().map((part) => noteFor(part, skills, shown));
    return notes.every((note) => note === null) ? message : withNotes(message, notes.toReversed());
  });
  return newestFirst.toReversed();
}

/**
 * Returns the names of the skills that a summary does not carry: the unloaded ones, and those that the messages behind it show in a later
 * version.
 */
export function skillsNotCarried(
  behind: readonly UIMessage[],
  skills: ReadonlyMap<string, boolean>,
): ReadonlySet<string> {
  const unloaded = [...skills].flatMap(([name, isLoaded]) => (isLoaded ? [] : [name]));
  const again = behind.flatMap(({ role, parts }) =>
    role === "assistant" ? parts.flatMap((part) => loadedBy(part) ?? []) : [],
  );
  return new Set([...unloaded, ...again.filter((name) => skills.has(name))]);
}

/** Returns a copy in which each note replaces its part's output. */
function withNotes(message: UIMessage, notes: readonly (string | null)[]): UIMessage {
  const parts = message.parts.map((part, at) => {
    const note = notes[at] ?? null;
    return note === null ? part : (Object.assign({}, part, { output: note }) as Part);
  });
  return { ...message, parts };
}

/** Returns the note for the part's output, or null when the part stays. */
function noteFor(part: Part, skills: ReadonlyMap<string, boolean>, shown: Set<string>): string | null {
  const name = loadedBy(part);
  const isLoaded = name === null ? undefined : skills.get(name);
  if (name === null || isLoaded === undefined) return null;
  if (isLoaded && !shown.has(name)) {
    shown.add(name);
    return null;
  }
  const why = isLoaded ? "loaded again below" : "unloaded";
  return `(The text of "${name}" was ${why} and is not shown here. Call ${LOAD_TOOL} to read it.)`;
}

/** Returns the name of the skill whose text this part carries, or null. */
function loadedBy(part: Part): string | null {
  const call = toolPart(part);
  if (call === null || toolName(call) !== LOAD_TOOL || call.state !== "output-available") return null;
  if (call.preliminary === true || typeof call.output !== "string" || call.output.startsWith(NOT_DONE)) return null;
  const { label, key } = (call.input ?? {}) as { label?: unknown; key?: unknown };
  return typeof label === "string" && typeof key === "string" ? skillName(label, key) : null;
}
