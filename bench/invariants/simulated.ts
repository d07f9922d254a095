/** What the simulator did, as it prints it, and as tables. */
import { z } from "zod";
import type { Table } from "../finding.ts";

const counts = z.record(z.string(), z.number());

/** What `npm run sim -- --json` prints, as far as it is told here. */
export const Simulated = z.object({
  operations: z.number(),
  seed: z.number(),
  tally: z.object({ operations: counts, refused: counts, outcomes: counts, answers: counts, checks: counts }),
  /** Each with the seed that its operations were drawn from, which is the first one or one of those that follow it. */
  violations: z.array(z.object({ seed: z.string(), invariant: z.string(), detail: z.string() })),
});
export type Simulated = z.infer<typeof Simulated>;

/** What was played, and what broke an invariant, by the seed that plays it again. */
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
        // As it is typed.
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

/** What would end a cell or a row is no part of what was found. */
function inCell(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll("|", "/");
}

function sum(of: Readonly<Record<string, number>>): number {
  return Object.values(of).reduce((total, each) => total + each, 0);
}
