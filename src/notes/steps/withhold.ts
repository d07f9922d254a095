/**
 * Filters versions of notes that describe messages edited or deleted since. Lines by a person stay readable, and lines
 * that a model derived from those messages do not.
 *
 * The kept versions in, the same versions out. A line counts as a person's only if it first came with a version by
 * hand. Where the update that this goes back to is no longer kept, no line counts as a person's. The version before it
 * may be of another branch.
 */
import type { NotesSection } from "./document.ts";

interface Version {
  readonly standing: boolean;
  readonly by: "update" | "hand";
  /** The update that the version goes back to. Null where a person wrote all of it. */
  readonly runId: string | null;
  readonly sections: readonly NotesSection[];
}

/**
 * Takes and returns versions newest first. Versions in force stay unchanged, and the others keep only lines written by
 * hand.
 */
export function withholdNotes<Kept extends Version>(
  versions: readonly Kept[],
): (Kept & { readonly withheld?: true })[] {
  const seen = new Set<string>();
  const byHand = new Set<string>();
  const shown = versions.toReversed().map((version): Kept & { readonly withheld?: true } => {
    const { by, runId, sections, standing } = version;
    const isKnown = runId === null || versions.some((each) => each.by === "update" && each.runId === runId);
    for (const line of sections.flatMap(({ text }) => text.split("\n"))) {
      if (by === "hand" && isKnown && !seen.has(line)) byHand.add(line);
      seen.add(line);
    }
    if (standing) return version;
    const kept = sections.map(({ title, text }) => ({ title, text: linesIn(text, byHand).join("\n") }));
    return { ...version, sections: kept, withheld: true };
  });
  return shown.toReversed();
}

function linesIn(text: string, wanted: ReadonlySet<string>): string[] {
  return text.split("\n").filter((line) => wanted.has(line));
}
