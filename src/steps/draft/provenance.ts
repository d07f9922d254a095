/**
 * Links the bullets of a summary to their source messages, by references in the text.
 *
 * A summariser sees numbered messages and is asked to end a bullet with the numbers that it used, as in `[#12, #15]`.
 * Numbers are valid in one transcript only, so they are at once turned into references that are valid everywhere, as in
 * `[@0a1b2c3]` (message/message.ts). Those survive merges and updates, and a model may pass them to `recall`.
 *
 * Text in, text out. A reference is never trusted. One that names no message of the span is removed, and the rest
 * of the text stays as it is.
 */
import { MAX_BULLET_REFERENCES } from "../../limits.ts";
import type { UIMessage } from "ai";
import { referenceTo } from "../message/message.ts";
import { parseSyntheticId } from "../view/view.ts";

/** The summariser's instruction for ending bullets with references. */
export const REFERENCE_RULE =
  "End a line with the number of the message that it comes from, as in [#12], or two where both are needed, and none that " +
  "the transcript does not show. References like [@0a1b2c3] in what you are given stay with what they stand behind.";

/** The messages that a line of a summary comes from. */
export interface BulletSource {
  /** The line of the text, from 0. */
  readonly line: number;
  readonly messageIds: readonly string[];
}

const ONE = "(?:#\\d{1,9}|@[0-9a-z]{7})";
/** Blanks are bounded, so that a text of blanks alone is read in linear time. */
const GAP = "[ \\t]{0,4}";
const GROUP = new RegExp(`${GAP}\\[${GAP}${ONE}(?:${GAP}[,;–-]${GAP}${ONE})*${GAP}\\]`, "g");

/** Numbers as some models write them: a range or a list with one mark, or in other brackets. */
const LOOSE = new RegExp(`[[【]${GAP}#\\d{1,9}(?:${GAP}[,;–-]${GAP}#?\\d{1,9})*${GAP}[\\]】]`, "g");

/** The numbers that a transcript of these messages shows, and the ids of the messages. */
export function numberMessages(messages: readonly UIMessage[], firstIndex = 1): Map<number, string> {
  return new Map(
    messages.flatMap(({ id }, at) => {
      const synthetic = parseSyntheticId(id);
      if (synthetic === null) return [[firstIndex + at, id] as const];
      return synthetic.kind === "slice" ? [[firstIndex + at, synthetic.messageId] as const] : [];
    }),
  );
}

/**
 * A summariser's answer with references in place of numbers. Those in the `@` form came from an earlier summary. They are kept, and
 * {@link keepReferences} checks them.
 */
export function parseReferences(summaryText: string, numbers: ReadonlyMap<number, string>): string {
  const plain = summaryText.replaceAll(LOOSE, (group) => `[${group.slice(1, -1).replaceAll(/#?(\d+)/g, "#$1")}]`);
  return rewrite(plain, (written) => {
    if (written.startsWith("@")) return written;
    const messageId = numbers.get(Number(written.slice(1)));
    return messageId === undefined ? null : referenceTo(messageId);
  });
}

/** The text without references to anything else. A fold cannot know any message but those that its sources name. */
export function keepReferences(text: string, known: Iterable<string>): string {
  const those = new Set(known);
  return rewrite(text, (written) => (those.has(written) ? written : null));
}

/** The references of a text. */
export function referencesIn(text: string): string[] {
  return text.split("\n").flatMap((line) => splitReferences(line).references);
}

/** The line without its references, and the references, each once. */
export function splitReferences(line: string): { text: string; references: string[] } {
  const references: string[] = [];
  const text = line.replaceAll(GROUP, (group) => {
    for (const [written] of group.matchAll(new RegExp(ONE, "g")))
      if (!references.includes(written)) references.push(written);
    return "";
  });
  return { text: references.length === 0 ? line : text.trimEnd(), references };
}

/** The text without its references. */
export function dropReferences(text: string): string {
  return text
    .split("\n")
    .map((line) => splitReferences(line).text)
    .join("\n");
}

/** The line with its references appended. */
export function joinReferences(text: string, references: readonly string[]): string {
  return references.length === 0 ? text : `${text} [${references.join(", ")}]`;
}

/** What may stand between the last references of a line and its end. */
const END = /^[ \t.,;:!?。]*$/;

/** Resolves each reference where it stands, since the words around it may need it. Those that end a line are put together behind it. */
function rewrite(summary: string, resolve: (written: string) => string | null): string {
  const lines = summary.split("\n").map((line) => {
    const groups = [...line.matchAll(GROUP)];
    let end = line.length;
    let last = groups.length;
    for (; last > 0; last--) {
      const { 0: group, index } = groups[last - 1] ?? { 0: "", index: 0 };
      if (!END.test(line.slice(index + group.length, end))) break;
      end = index;
    }
    const middle = line.slice(0, end).replaceAll(GROUP, (group) => {
      const shown = resolved(group, resolve);
      return shown.length === 0 ? "" : `${group.slice(0, group.indexOf("["))}[${shown.join(", ")}]`;
    });
    const closing = line.slice(end);
    return last === groups.length
      ? middle
      : joinReferences(`${middle}${splitReferences(closing).text}`, resolved(closing, resolve));
  });
  return lines.join("\n");
}

/** The references of a text that lead somewhere, each once. */
function resolved(text: string, resolve: (written: string) => string | null): string[] {
  const shown = splitReferences(text).references.flatMap((written) => resolve(written) ?? []);
  return [...new Set(shown)].slice(0, MAX_BULLET_REFERENCES);
}
