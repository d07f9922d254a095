/**
 * `recall` of the session's notes. It reads one version as it was written, where a model was shown only a part of it.
 *
 * Reads only. Safe for the same reason as a history of the notes. If messages of a version were edited or deleted since, only a person's
 * own text is read (notes/steps/withhold.ts).
 */
import type { NotesVersion, SessionNotes } from "./versions.ts";
import type { CountTokens } from "../steps/message/message.ts";
import { renderNotes } from "./steps/document.ts";
import { pointTo } from "./steps/pointer.ts";
import { withholdNotes } from "./steps/withhold.ts";
import { normalizeTitle } from "../steps/draft/prompt.ts";
import { endWithin } from "../steps/text/text.ts";
import type { RecalledVersion } from "../agent/hooks.ts";
import type { Recall } from "../agent/recalled.ts";

/** A version, or one section of it, in pieces that fit an answer. Each piece says how to ask for the next. */
export function recallNotes(notes: SessionNotes, asked: RecalledVersion, countTokens: CountTokens): Recall {
  const kept = withholdNotes(notes.kept());
  const version = kept.find(({ n }) => n === asked.version);
  if (version === undefined) return unknown(sayVersions(asked.version, kept));
  const wanted = asked.section === undefined ? null : normalizeTitle(asked.section);
  const section = version.sections.find(({ title }) => normalizeTitle(title) === wanted);
  if (wanted !== null && section === undefined) return unknown(saySections(version));
  const text = section?.text ?? renderNotes(version.sections);
  const from = Math.min(asked.from ?? 0, text.length);
  const end = endWithin(text, {
    from,
    maxTokens: asked.maxTokens,
    fits: (to) => countTokens(answer(version, { section: section?.title, text, from, to })) <= asked.maxTokens,
  });
  return {
    kind: "found",
    text: answer(version, { section: section?.title, text, from, to: end }),
    messages: [],
    leftOut: end === text.length ? 0 : null,
  };
}

interface SectionText {
  readonly section: string | undefined;
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

function answer(
  version: NotesVersion & { readonly withheld?: true },
  { section, text, from, to }: SectionText,
): string {
  const { n, createdAt, withheld } = version;
  const day = new Date(createdAt).toISOString().slice(0, 10);
  const what = section === undefined ? "" : `, ${JSON.stringify(section)}`;
  const less = withheld === true ? ", without what described messages that were changed since" : "";
  const header = `[Notes, version ${n}${what}, ${day}${less}]`;
  const body = text === "" ? "None." : text.slice(from, to);
  if (to === text.length) return `${header}\n${body}`;
  const next = pointTo(n, { from: to, ...(section !== undefined && { section }) });
  return `${header}\n${body}\n\n(Characters ${from} to ${to} of ${text.length}. For what follows: ${next})`;
}

function unknown(text: string): Recall {
  return { kind: "nothing", reason: "unknown", text };
}

function sayVersions(n: number, kept: readonly NotesVersion[]): string {
  if (kept.length === 0) return "There are no notes of this conversation.";
  return `Version ${n} of the notes is not kept. These are, newest first: ${kept.map((each) => each.n).join(", ")}.`;
}

function saySections({ n, sections }: NotesVersion): string {
  return `Version ${n} of the notes has no such section. It has: ${sections.map(({ title }) => JSON.stringify(title)).join(", ")}.`;
}
