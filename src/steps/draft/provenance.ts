/**
 * Links the bullets of a summary to their source messages, by references in the text.
 *
 * A summariser sees numbered messages and is asked to end a bullet with the numbers that it used, as in `[#12, #15]`.
 * Numbers are valid in one transcript only, so they are at once turned into references that are valid everywhere, as in
 * `[@0a1b2c3]` (message/reference.ts). Those survive merges and updates, and a model may pass them to `recall`.
 *
 * Text in, text out. A reference is never trusted. One that names no message of the span is removed and counted, and
 * the rest of the text stays as it is.
 */
import { MAX_BULLET_REFERENCES } from "../../limits.ts";
import type { UIMessage } from "ai";
import { hashId, hashOf, referenceTo } from "../message/reference.ts";
import { parseSyntheticId } from "../view/view.ts";

/** The summariser's instruction for ending bullets with references. */
export const REFERENCE_RULE =
  `End each bullet with the numbers of the messages that it comes from, as in [#12, #15]: those that matter most, at most ` +
  `${MAX_BULLET_REFERENCES}, and none that the transcript does not show. References like [@0a1b2c3] in what you are given ` +
  "stay with what they stand behind.";

export interface BulletSource {
  /** The line of the text, from 0. */
  readonly line: number;
  readonly messageIds: readonly string[];
}

export interface Provenance {
  /** The same lines, with references in the requested form. */
  readonly text: string;
  /** The lines that have references. */
  readonly bullets: readonly BulletSource[];
  /** The number of references that named no existing message. They were removed from the text. */
  readonly invented: number;
}

/** The form of references in the text. `short` ones can be passed to `recall`, `none` removes them. */
export type ReferenceForm = "short" | "none";

const ONE = "(?:#\\d{1,9}|@[0-9a-z]{7})";
/** Blanks are bounded, so that a text of blanks alone is read in linear time. */
const GAP = "[ \\t]{0,4}";
const GROUP = new RegExp(`${GAP}\\[${GAP}${ONE}(?:${GAP}[,;–-]${GAP}${ONE})*${GAP}\\]`, "g");

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
 * Resolves the numbers in a summariser's answer. References in the `@` form came from an earlier summary. They are
 * kept, and {@link resolveProvenance} checks them.
 */
export function parseReferences(
  summaryText: string,
  numbers: ReadonlyMap<number, string>,
  form: ReferenceForm = "short",
): Provenance {
  return rewrite(summaryText, form, (written) => {
    if (written.startsWith("@")) return { kept: written };
    const messageId = numbers.get(Number(written.slice(1)));
    return messageId === undefined ? null : { messageIds: [messageId] };
  });
}

/** Checks every reference of a summary against the messages under it. An unresolved number counts as invented. */
export function resolveProvenance(text: string, spanIds: Iterable<string>, form: ReferenceForm = "short"): Provenance {
  const byHash = new Map<number, string[]>();
  for (const id of new Set(spanIds)) byHash.set(hashId(id), [...(byHash.get(hashId(id)) ?? []), id]);
  return rewrite(text, form, (written) => {
    const messageIds = byHash.get(hashOf(written) ?? 0);
    return messageIds === undefined ? null : { messageIds };
  });
}

/** Keeps only the references of a fold that its sources have, because a fold cannot know any other message. */
export function keepReferences(text: string, sources: readonly string[]): Provenance {
  const known = new Set(
    sources.flatMap((source) => source.split("\n").flatMap((line) => splitReferences(line).references)),
  );
  return rewrite(text, "short", (written) => (known.has(written) ? { kept: written } : null));
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

type Resolved = { readonly messageIds: readonly string[] } | { readonly kept: string } | null;

function rewrite(summary: string, form: ReferenceForm, resolve: (written: string) => Resolved): Provenance {
  const bullets: BulletSource[] = [];
  let invented = 0;
  const lines = summary.split("\n").map((whole, line) => {
    const { text, references } = splitReferences(whole);
    if (references.length === 0) return whole;
    const messageIds: string[] = [];
    const shown: string[] = [];
    for (const written of references) {
      const resolved = resolve(written);
      if (resolved === null) invented++;
      else if ("kept" in resolved) shown.push(resolved.kept);
      else {
        messageIds.push(...resolved.messageIds);
        shown.push(...resolved.messageIds.map(referenceTo));
      }
    }
    const ids = [...new Set(messageIds)].slice(0, MAX_BULLET_REFERENCES);
    if (ids.length > 0) bullets.push({ line, messageIds: ids });
    return form === "none" ? text : joinReferences(text, [...new Set(shown)].slice(0, MAX_BULLET_REFERENCES));
  });
  return { text: lines.join("\n"), bullets, invented };
}
