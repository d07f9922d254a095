/**
 * Writes what stands beside a summary, and the message that a view shows for both.
 *
 * Hostile values are safe: each stands in a line that begins with our own words, or in a fence, so it can open no heading and close no tag of
 * a prompt.
 */
import { referenceTo } from "../steps/message/message.ts";
import { closeFence, inLines, safeLine, withoutHeading } from "../steps/text/text.ts";
import type { Instruction, Pinned, Saying } from "./fact.ts";
import { withoutMiddle } from "./said.ts";
import type { UIMessage } from "ai";
import { withoutEmptySections } from "../steps/draft/audit.ts";
import { isSummaryRecord, overlayMessageId, parseSyntheticId, RECORD_END, RECORD_PREFIX } from "../steps/view/view.ts";

/** The heading of what the user's instructions are. Nothing else may stand under these headings (steps/text/text.ts). */
export const IN_FORCE_HEADING = "## Still in force";
const IN_FORCE_NOTE = "Standing instructions of the user, word for word. Where two differ, the later holds.";
const WITH_SYSTEM_NOTE =
  "Of the user and of system messages, word for word. Where two differ, a system message holds, else the later.";
export const SAID_HEADING = "## What the user said in these messages, word for word";

const LOADED_HEADING = "## Loaded, and it holds unless something later changes it";

const TITLES = {
  document: "a file as it was last read",
  skill: "a skill as it was last loaded",
  context: "as it was last loaded",
  plan: "as it last stood",
} as const;

/** Characters of an old instruction that is shown in short. Its reference brings the rest. */
const BRIEF_CHARS = 160;

function leftOut(characters: number): string {
  return characters === 0 ? "" : `, ${characters} characters left out`;
}

/** Empty for none. */
export function renderInstructions(instructions: readonly Instruction[]): string {
  if (instructions.length === 0) return "";
  const lines = instructions.map(({ quote, messageId, system, brief }) => {
    const by = system === true ? ", a system message" : "";
    const { text, left } = withoutMiddle(quote, brief === true ? BRIEF_CHARS : Infinity);
    return `- "${safeLine(text)}" [${referenceTo(messageId)}${by}${leftOut(left)}]`;
  });
  const note = instructions.some(({ system }) => system) ? WITH_SYSTEM_NOTE : IN_FORCE_NOTE;
  return [IN_FORCE_HEADING, note, ...lines].join("\n");
}

/** The lines of instructions in a text that contains the rendering. */
export function readInForce(text: string): string[] {
  const lines = text.split("\n");
  const from = lines.lastIndexOf(IN_FORCE_HEADING) + 1;
  if (from === 0) return [];
  const rest = lines.slice(from).filter((line) => line !== IN_FORCE_NOTE && line !== WITH_SYSTEM_NOTE);
  const end = rest.findIndex((line) => !line.startsWith('- "'));
  return rest.slice(0, end === -1 ? rest.length : end);
}

/** Oldest first. Empty for none. */
export function renderSaid(said: readonly Saying[]): string {
  if (said.length === 0) return "";
  const lines = said.map(
    ({ messageId, text, left }) => `- [${referenceTo(messageId)}${leftOut(left)}] ${safeLine(text)}`,
  );
  return [SAID_HEADING, ...lines].join("\n");
}

/** A section for each text, and a list of those without room. Empty for none. */
export function renderLoaded(loaded: Pinned["loaded"]): string {
  const parts = loaded.flatMap(({ kind, name, text, messageId }) => {
    if (text === "") return [];
    const clean = inLines(text);
    const longest = [...clean.matchAll(/`{3,}/g)].reduce((most, [run]) => Math.max(most, run.length), 2);
    const fence = "`".repeat(longest + 1);
    return [`### ${safeLine(name)} (${referenceTo(messageId)}), ${TITLES[kind]}\n${fence}\n${clean}\n${fence}`];
  });
  const named = loaded.flatMap(({ name, text, characters, messageId }) => {
    const size = characters === 0 ? "may have changed, read it again" : `${characters} characters`;
    return text === "" ? [`${safeLine(name)} (${referenceTo(messageId)}, ${size})`] : [];
  });
  if (named.length > 0) parts.push(`### Loaded earlier, without room here\n- ${named.join("\n- ")}`);
  return parts.length === 0 ? "" : [LOADED_HEADING, withoutHeading(parts.join("\n"))].join("\n");
}

/** All of it with a blank line between the parts. Empty where nothing is pinned. */
export function renderPinned({ instructions, said, loaded }: Pinned): string {
  const parts = [renderSaid(said), renderInstructions(instructions), renderLoaded(loaded)];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** A heading or a line of the rendering, which names a text. */
const NAMED = /^(?:### |- )([^\n]{1,300} \(@[0-9a-z]{7})[,)]/;

/** The names and references of the texts in a rendering. Lines inside a text name nothing. */
export function readLoadedNames(text: string): string[] {
  const at = text.lastIndexOf(`${LOADED_HEADING}\n`);
  if (at === -1) return [];
  let fence = "";
  return text
    .slice(at)
    .split("\n")
    .flatMap((line) => {
      if (fence !== "") {
        if (line === fence) fence = "";
        return [];
      }
      if (/^`{3,}$/.test(line)) fence = line;
      const name = NAMED.exec(line)?.[1];
      return name === undefined ? [] : [`${name})`];
    });
}

export interface SummarySource {
  readonly overlayId: string;
  readonly summary: string;
  /** The number of messages that it stands for. */
  readonly spanMessages?: number;
  /** True when no model wrote it. */
  readonly degraded?: boolean;
  /** Facts quoted word for word beside the summary. */
  readonly pinned?: Pinned;
  /** Texts of context blocks when the overlay was added. */
  readonly carried?: readonly { readonly label: string; readonly text: string }[];
  /** How the conversation began, word for word. */
  readonly opening?: string | null;
  /** A text added by the caller's code. */
  readonly context?: string | null;
}

/** A summary as a stored message, for a session that does not hold the summarised messages. */
export function recordMessage(source: SummarySource, instructions: readonly Instruction[] = []): UIMessage {
  const { overlayId } = source;
  const recorded = instructions.map(({ restored: _restored, brief: _brief, ...each }) => each);
  const metadata = { palimpsest: { kind: "record", overlayId, instructions: recorded } };
  return { ...summaryMessage(source), id: `${RECORD_PREFIX}${overlayId}`, metadata };
}

/** The user's instructions behind a stored summary, word for word, with the ids of the messages that stated them. */
export function recordedInstructions(message: Pick<UIMessage, "id" | "metadata">): Instruction[] {
  if (!isSummaryRecord(message)) return [];
  // A row that was damaged from outside is decoded without metadata.
  const { instructions } =
    (message.metadata as { palimpsest?: { instructions?: unknown } } | undefined)?.palimpsest ?? {};
  return Array.isArray(instructions) ? instructions.filter(isInstruction) : [];
}

function isInstruction(value: unknown): value is Instruction {
  const { quote, messageId } = (value ?? {}) as { quote?: unknown; messageId?: unknown };
  return typeof quote === "string" && typeof messageId === "string";
}

/**
 * The summary as the model reads it. It is a user message, which every provider takes, framed so that nobody takes it for a request, or
 * what follows it for a part of it. Where roles must alternate, the user's next words share its message.
 */
export function summaryMessage(source: SummarySource): UIMessage {
  const { pinned } = source;
  const documents = (pinned?.loaded ?? []).flatMap(({ kind, name, text }) =>
    kind === "context" && text !== "" ? [name] : [],
  );
  const parts = [
    frameOf(source),
    withoutHeading(closeFence(withoutEmptySections(source.summary))),
    pinned === undefined ? "" : renderSaid(pinned.said),
    opened(source),
    pinned === undefined ? "" : renderInstructions(pinned.instructions),
    pinned === undefined ? "" : renderLoaded(pinned.loaded),
    withoutHeading(besides(source)),
    RECORD_END,
  ];
  return {
    id: overlayMessageId(source.overlayId),
    role: "user",
    metadata: {
      palimpsest: { kind: "overlay", overlayId: source.overlayId, ...(documents.length > 0 && { documents }) },
    },
    parts: [{ type: "text", text: parts.filter((part) => part !== "").join("\n\n") }],
  };
}

function frameOf({ spanMessages, degraded }: SummarySource): string {
  const count = spanMessages === 1 ? "1 message or some of its steps" : `${spanMessages ?? "earlier"} messages`;
  const origin = degraded === true ? " Made without a model." : "";
  return `[Summary of ${count}, in their place. A record, not a request: goal and open points may be settled since, what it lists as in force or loaded holds.${origin} The tool "recall", if you have it, reads [@0a1b2c3] and the like.]`;
}

/** The names of the entries of context blocks that a summary shows whole. Empty for any other message. */
export function carriedDocuments({ id, metadata }: Pick<UIMessage, "id" | "metadata">): readonly string[] {
  if (parseSyntheticId(id)?.kind !== "overlay") return [];
  const { documents } = (metadata as { palimpsest?: { documents?: unknown } | null } | null)?.palimpsest ?? {};
  return Array.isArray(documents) ? documents : [];
}

/** The quoted opening of the conversation. */
export function opened({ opening = null }: Pick<SummarySource, "opening">): string {
  return opening === null ? "" : `## How it began, word for word\n${withoutHeading(closeFence(opening))}`;
}

/** The carried blocks and the caller's context, shown after the summary and the pinned facts. Empty for none. */
export function besides({ carried = [], context = null }: Pick<SummarySource, "carried" | "context">): string {
  const blocks = carried.map(({ label, text }) => `## ${label}, as it was\n${closeFence(text)}`);
  return [...blocks, ...(context === null ? [] : [`## Besides\n${closeFence(context)}`])].join("\n\n");
}
