/** Which summaries the only chunk of a plan carries on. */
import type { SpanPlan } from "./plan.ts";

/** The overlays that the plan's only chunk carries on. Empty where they are merged with drafts of several chunks, or none is folded in. */
export function carriedBy({ parts, chunks }: SpanPlan, index: number): readonly string[] {
  const last = parts.at(-1);
  const isOnly = parts.filter(({ kind }) => kind === "chunk").length === 1 && chunks[index]?.halfOf === undefined;
  if (!isOnly || last?.kind !== "chunk" || last.index !== index) return [];
  return parts.flatMap((part) => (part.kind === "overlay" ? [part.id] : []));
}
