/**
 * Removes the texts of unloaded skills from a model's messages, and names those that a summary may not carry either.
 *
 * It is pure and works on copies. The stored messages stay as they are (M1), so the text returns when the skill is loaded again. Only known
 * unloaded skills are removed. A text from an import, or from a caller's tool with the same name, is no skill of this session. What a
 * summary carries is known from its metadata, which only our own messages have, and never from its text.
 */
import type { UIMessage } from "ai";
import { carriedDocuments } from "../facts/render.ts";
import { toolName, toolPart, type Part } from "../steps/message/message.ts";
import { LOAD_TOOL, NOT_DONE } from "../facts/loaded.ts";

/** Returns `label:key`. It is unambiguous, because a label has no colon. */
export function skillName(label: string, key: string): string {
  return `${label}:${key}`;
}

/**
 * Returns the messages with each loaded text once, where it was loaded last, and a short note in place of every other.
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
