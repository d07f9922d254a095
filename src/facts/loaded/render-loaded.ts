/**
 * Renders loaded texts for the model: each text under a heading of our own, and texts that do not fit by name.
 *
 * A choice in, markdown out. Hostile texts are safe. Each stands in a fence longer than any fence inside it. No line of
 * it can pose as the heading of the facts in force, and none can close a tag of a prompt.
 */
import { referenceTo } from "../../steps/message/reference.ts";
import type { Pinned } from "../fact.ts";
import { inLines, safeLine, withoutHeading } from "../../steps/text/safe-text.ts";

export type PinnedLoaded = Pinned["loaded"][number];

const TITLES = {
  document: "as it was last read or written (a later version or change below holds)",
  skill: "as it was last loaded (a later version below holds)",
  context: "as it was last loaded (a later version below holds)",
  plan: "as it last stood (a later version below holds)",
  call: "has no result yet",
  touched: "",
} as const;

/** A section for each text under a heading of our own, and a list of the named ones at the end. Empty for none. */
export function renderLoaded(loaded: readonly PinnedLoaded[]): string {
  const parts = loaded.flatMap(({ kind, name, text, messageId }) => {
    if (text === "") return [];
    const clean = withoutHeading(inLines(text));
    const fence = fenceFor(clean);
    const title = kind === "call" ? "A call" : safeLine(name);
    return [`### ${title} (${referenceTo(messageId)}), ${TITLES[kind]}\n${fence}\n${clean}\n${fence}`];
  });
  const named = loaded.flatMap(({ name, text, characters, messageId }) => {
    if (messageId === "") return [`and ${characters} more`];
    const size = characters === 0 ? "may have changed, read it again" : `${characters} characters`;
    return text === "" ? [`${safeLine(name)} (${referenceTo(messageId)}, ${size})`] : [];
  });
  if (named.length > 0) parts.push(`### Loaded earlier, without room here (recall has it)\n- ${named.join("\n- ")}`);
  return parts.join("\n");
}

/** Stands for loaded texts whose names do not fit either. */
export function leftOut(count: number): PinnedLoaded {
  return { kind: "document", name: "", text: "", characters: count, messageId: "" };
}

/** A heading or a line of the rendering, which names a text. */
const NAMED = /^(?:### |- )([^\n]{1,300} \(@[0-9a-z]{7})[,)]/;

/** The names and references of the texts in a rendering. Lines inside a text name nothing. */
export function readLoadedNames(rendering: string): string[] {
  let fence = "";
  return rendering.split("\n").flatMap((line) => {
    if (fence !== "") {
      if (line === fence) fence = "";
      return [];
    }
    if (/^`{3,}$/.test(line)) fence = line;
    const name = NAMED.exec(line)?.[1];
    return name === undefined ? [] : [`${name})`];
  });
}

const FENCES = /`{3,}/g;

function fenceFor(text: string): string {
  const longest = [...text.matchAll(FENCES)].reduce((most, [run]) => Math.max(most, run.length), 2);
  return "`".repeat(longest + 1);
}
