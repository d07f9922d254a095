/**
 * Leaves the text of skills that are no longer loaded out of what a model is sent.
 *
 * Boundary: pure, on copies. What was stored stays as it was (M1): the text comes back when the skill is loaded again.
 * Safe because only what is known to have been unloaded is left out: a text that came with an import, or from a tool of
 * the caller's that has the same name, is no skill of this session's.
 */
import type { UIMessage } from "ai";
import { toolName, toolPart } from "../steps/message/tool-parts.ts";
import type { Part } from "../steps/message/tool-parts.ts";

export const LOAD_TOOL = "load_context";

/** How an answer starts that brought no text. */
export const NOT_DONE = "Not done. ";

/** `label:key`. Unambiguous, because a label has no colon. */
export function skillName(label: string, key: string): string {
  return `${label}:${key}`;
}

/**
 * The messages with each loaded text shown once, where it was loaded last, and a short note in place of every other.
 *
 * @param skills by name, as {@link skillName} makes it: whether the skill is loaded, or was unloaded again
 */
export function hideUnloadedSkills(messages: readonly UIMessage[], skills: ReadonlyMap<string, boolean>): UIMessage[] {
  if (skills.size === 0) return [...messages];
  const shown = new Set<string>();
  // From the newest to the oldest, so that the first text met under a name is the one that stays.
  const newestFirst = messages.toReversed().map((message) => {
    const notes = message.parts.toReversed().map((part) => noteFor(part, skills, shown));
    return notes.every((note) => note === null) ? message : withNotes(message, notes.toReversed());
  });
  return newestFirst.toReversed();
}

/** A copy with the output of each part that has a note replaced by it. */
function withNotes(message: UIMessage, notes: readonly (string | null)[]): UIMessage {
  const parts = message.parts.map((part, at) => {
    const note = notes[at] ?? null;
    return note === null ? part : (Object.assign({}, part, { output: note }) as Part);
  });
  return { ...message, parts };
}

/** What stands in for the part's output, or null when the part stays. */
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

/** The skill whose text this part carries, or null. */
function loadedBy(part: Part): string | null {
  const call = toolPart(part);
  if (call === null || toolName(call) !== LOAD_TOOL || call.state !== "output-available") return null;
  if (typeof call.output !== "string" || call.output.startsWith(NOT_DONE)) return null;
  const { label, key } = (call.input ?? {}) as { label?: unknown; key?: unknown };
  return typeof label === "string" && typeof key === "string" ? skillName(label, key) : null;
}
