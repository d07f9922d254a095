/**
 * What may still be read of notes that tell of messages which were edited or deleted since: what a person wrote, and nothing
 * that a model took from those messages.
 *
 * Boundary: the kept versions in, the same out. Safe because a line counts as a person's only where it came with a version by
 * hand and stood in none before it, of those that are known; where what came before is not known, none does.
 */
import type { NotesSection } from "./document.ts";

interface Version {
  readonly n: number;
  readonly standing: boolean;
  readonly by: "update" | "hand";
  /** Of the update that it goes back to; null where a person wrote all of it. */
  readonly runId: string | null;
  readonly sections: readonly NotesSection[];
}

/** Newest first, as they come: those that stand as they are, of the others the lines by hand alone. */
export function withholdNotes<Kept extends Version>(
  versions: readonly Kept[],
): (Kept & { readonly withheld?: true })[] {
  const seen = new Set<string>();
  const byHand = new Set<string>();
  const shown = versions.toReversed().map((version, at, all): Kept & { readonly withheld?: true } => {
    const { by, runId, sections, standing } = version;
    const isKnown = runId === null || all[at - 1]?.n === version.n - 1;
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
