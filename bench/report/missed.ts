/** The bounds that were not kept in the last measurement. */
import { isKept, type Check } from "./finding.ts";
import { renderBeside, renderCell } from "./render.ts";
import type { Results } from "./results.ts";

/** Every missed bound under the title of its case. Empty where there is none. */
export function listMissed(results: Results): string {
  return missedOf(results)
    .filter(({ missed }) => missed.length > 0)
    .map(({ title, missed }) => `**${title}**\n\n${missed.map(describe).join("\n")}`)
    .join("\n\n");
}

interface Missed {
  readonly title: string;
  readonly checks: readonly Check[];
  readonly missed: readonly Check[];
}

function missedOf(results: Results): Missed[] {
  return Object.values(results).map(({ finding: { title, checks } }) => ({
    title,
    checks,
    missed: checks.filter((check) => !isKept(check)),
  }));
}

function describe({ claim, measured, target, better }: Check): string {
  const bound = better === "more" ? "at least" : "at most";
  return `- ${claim} is ${renderBeside(measured, target)}, and should be ${bound} ${renderCell(target)}`;
}
