/**
 * Writes what stands beside a summary.
 *
 * Facts in, Markdown out. Hostile values are safe: each stands in a line that begins with our own words, or in a fence, so it can open no
 * heading and close no tag of a prompt.
 */
import { referenceTo } from "../steps/message/reference.ts";
import { inLines, safeLine, withoutHeading } from "../steps/text/safe-text.ts";
import type { Instruction, Pinned, Saying } from "./fact.ts";

/** The heading of what the user's instructions are. Nothing else may stand under it (steps/text/safe-text.ts). */
export const IN_FORCE_HEADING = "## Still in force";
const IN_FORCE_NOTE = "Standing instructions of the user, word for word. Where two differ, the later holds.";
export const SAID_HEADING = "## What the user said in these messages, word for word";

const LOADED_HEADING = "## Loaded, and it holds unless something later changes it";

const TITLES = {
  document: "a file as it was last read",
  skill: "a skill as it was last loaded",
  context: "as it was last loaded",
  plan: "as it last stood",
} as const;

/** Empty for none. */
export function renderInstructions(instructions: readonly Instruction[]): string {
  if (instructions.length === 0) return "";
  const lines = instructions.map(({ quote, messageId }) => `- "${safeLine(quote)}" [${referenceTo(messageId)}]`);
  return [IN_FORCE_HEADING, IN_FORCE_NOTE, ...lines].join("\n");
}

/** The lines of instructions in a text that contains the rendering. */
export function readInForce(text: string): string[] {
  const lines = text.split("\n");
  const from = lines.lastIndexOf(IN_FORCE_HEADING) + 1;
  if (from === 0) return [];
  const rest = lines.slice(from).filter((line) => line !== IN_FORCE_NOTE);
  const end = rest.findIndex((line) => !line.startsWith('- "'));
  return rest.slice(0, end === -1 ? rest.length : end);
}

/** Oldest first. Empty for none. */
export function renderSaid(said: readonly Saying[]): string {
  if (said.length === 0) return "";
  const lines = said.map(({ messageId, text, left }) => {
    const more = left === 0 ? "" : `, ${left} characters left out`;
    return `- [${referenceTo(messageId)}${more}] ${safeLine(text)}`;
  });
  return [SAID_HEADING, ...lines].join("\n");
}

/** A section for each text, and a list of those without room. Empty for none. */
export function renderLoaded(loaded: Pinned["loaded"]): string {
  const parts = loaded.flatMap(({ kind, name, text, messageId }) => {
    if (text === "") return [];
    const clean = withoutHeading(inLines(text));
    const longest = [...clean.matchAll(/`{3,}/g)].reduce((most, [run]) => Math.max(most, run.length), 2);
    const fence = "`".repeat(longest + 1);
    return [`### ${safeLine(name)} (${referenceTo(messageId)}), ${TITLES[kind]}\n${fence}\n${clean}\n${fence}`];
  });
  const named = loaded.flatMap(({ name, text, characters, messageId }) => {
    const size = characters === 0 ? "may have changed, read it again" : `${characters} characters`;
    return text === "" ? [`${safeLine(name)} (${referenceTo(messageId)}, ${size})`] : [];
  });
  if (named.length > 0) parts.push(`### Loaded earlier, without room here\n- ${named.join("\n- ")}`);
  return parts.length === 0 ? "" : [LOADED_HEADING, ...parts].join("\n");
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
