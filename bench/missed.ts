/** The bounds that were not kept when last measured: all of them for the page of results, the README's share by case where they are many. */
import { isKept, type Check } from "./finding.ts";
import { renderBeside, renderCell } from "./report.ts";
import type { Results } from "./results.ts";

/** More of one case than these are told as a count: a list that nobody reads hides what stands in it. */
const MOST_NAMED = 3;

/** In the README: `page` is where they all stand. */
export function tellMissed(results: Results, page: string): string {
  const lines = missedOf(results).flatMap(({ title, checks, missed }) =>
    missed.length <= MOST_NAMED
      ? missed.map(describe)
      : [`- ${title}: ${missed.length} of its ${checks.length} bounds`],
  );
  if (lines.length === 0) return "Every bound that the benchmark holds was kept when last measured.";
  return `Bounds that were missed when last measured ([all of them](${page})):\n\n${lines.join("\n")}`;
}

/** Every one, under the title of its case; empty where there is none. */
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
