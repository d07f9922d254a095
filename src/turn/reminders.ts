/**
 * The reminders of a turn, which are not stored. Each stays where it was said first, so that a step's prompt begins with the one before, and the
 * thoughts of the steps between stay bound to it.
 *
 * A reminder stands behind a number of messages of a certain digest. Where these are others now, it is forgotten, and the present one is said
 * anew at the end.
 */
import type { ModelMessage } from "ai";
import { digest } from "../steps/text/digest.ts";

interface Said {
  readonly text: string;
  /** The number of messages before it, without reminders, and their digest. */
  readonly at: number;
  readonly before: string;
}

export class Reminders {
  #said: readonly Said[] = [];

  /** The texts that the next prompt holds. */
  texts(reminder: string | null): string[] {
    const said = this.#said.map(({ text }) => text);
    return reminder === null || said.at(-1) === reminder ? said : [...said, reminder];
  }

  /** The messages with the earlier reminders in their places, and this one at the end unless it is the last of them. */
  put(messages: readonly ModelMessage[], reminder: string | null): ModelMessage[] {
    if (reminder === null && this.#said.length === 0) return [...messages];
    const digests = chain(messages);
    this.#said = this.#said.filter(({ at, before }) => digests[at] === before);
    if (reminder !== null && this.#said.at(-1)?.text !== reminder) {
      const at = messages.length;
      this.#said = [...this.#said, { text: reminder, at, before: digests[at] ?? "" }];
    }
    let shown: ModelMessage[] = [];
    for (let at = 0; at <= messages.length; at++) {
      for (const { text } of this.#said.filter((each) => each.at === at)) shown = withReminder(shown, text);
      const message = messages[at];
      if (message !== undefined) shown.push(message);
    }
    return shown;
  }
}

/** The digest of the first messages, by their number. */
function chain(messages: readonly ModelMessage[]): string[] {
  const digests = [""];
  for (const message of messages) digests.push(digest(digests.at(-1) ?? "", JSON.stringify(message)));
  return digests;
}

/** A reminder stands behind the user's own words, where those come last. */
export function withReminder(messages: readonly ModelMessage[], reminder: string): ModelMessage[] {
  const last = messages.at(-1);
  if (last?.role !== "user") return [...messages, { role: "user", content: reminder }];
  const said = typeof last.content === "string" ? [{ type: "text" as const, text: last.content }] : last.content;
  return [...messages.slice(0, -1), { ...last, content: [...said, { type: "text", text: reminder }] }];
}
