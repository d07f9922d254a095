/** Splits a summary into lines with the source messages of each. Pure. */
import { NOTHING } from "../../src/steps/draft/audit.ts";
import { splitReferences, type BulletSource } from "../../src/steps/draft/provenance.ts";

export type SummaryLine =
  | { readonly kind: "heading"; readonly line: number; readonly text: string }
  | {
      readonly kind: "bullet" | "text";
      readonly line: number;
      readonly text: string;
      /** Empty where the sources are unknown. */
      readonly messageIds: readonly string[];
    };

/** Returns all lines but blank ones, in order. `line` is the line's number in the text, from 0. References are removed from the text. */
export function readSummary(summary: string, sources: readonly BulletSource[]): SummaryLine[] {
  const byLine = new Map(sources.map((source) => [source.line, source.messageIds]));
  return summary.split("\n").flatMap<SummaryLine>((whole, line) => {
    const { text } = splitReferences(whole);
    if (text.trim() === "") return [];
    const heading = /^#{1,6}\s+(.*)$/.exec(text)?.[1];
    if (heading !== undefined) return [{ kind: "heading", line, text: heading }];
    const bullet = /^\s*[-*•]\s+(.*)$/.exec(text)?.[1];
    const kind = bullet === undefined ? "text" : "bullet";
    return [{ kind, line, text: (bullet ?? text).trim(), messageIds: byLine.get(line) ?? [] }];
  });
}

/** Returns the beginning of a summary without its headings, for a part of the page with room for a line or two. */
export function gist(summary: string, chars: number): string {
  const said = readSummary(summary, []).flatMap((line) =>
    line.kind === "heading" || line.text === NOTHING ? [] : [line.text],
  );
  return said.join(" ¶ ").slice(0, chars).toWellFormed();
}
