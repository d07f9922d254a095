/** The simulator's printed report, and tables of it. */
import { z } from "zod";
import type { Table } from "../report/finding.ts";

const counts = z.record(z.string(), z.number());

/** The fields of the output of `npm run sim -- --json` that are read here. */
export const Simulated = z.object({
  operations: z.number(),
  seed: z.number(),
  tally: z.object({ operations: counts, refused: counts, outcomes: counts, answers: counts, checks: counts }),
  /** Each with the seed of its operations. It is the first seed or one of those after it. */
  violations: z.array(z.object({ seed: z.string(), invariant: z.string(), detail: z.string() })),
});
export type Simulated = z.infer<typeof Simulated>;

/** Tables of what was played, and of each violation with the seed that replays it. */
export function tablesOf({ operations, seed, tally, violations }: Simulated): Table[] {
  const played: Table = {
    caption: "The simulator",
    columns: [
      "seed",
      "operations",
      "of kinds",
      "refused",
      "runs",
      "by outcomes",
      "model calls",
      "checks",
      "violations",
    ],
    rows: [
      [
        // Unformatted, as a user types it.
        String(seed),
        operations,
        Object.keys(tally.operations).length,
        sum(tally.refused),
        sum(tally.outcomes),
        Object.keys(tally.outcomes).length,
        sum(tally.answers),
        sum(tally.checks),
        violations.length,
      ],
    ],
  };
  if (violations.length === 0) return [played];
  const broken: Table = {
    caption: "The simulator: what broke an invariant",
    columns: ["seed, or kept list", "invariant", "what was found"],
    rows: violations.map(({ seed, invariant, detail }) => [seed, invariant, inCell(detail)]),
  };
  return [played, broken];
}

/** Removes the characters that would end a cell or a row. */
function inCell(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll("|", "/");
}

function sum(of: Readonly<Record<string, number>>): number {
  return Object.values(of).reduce((total, each) => total + each, 0);
}
