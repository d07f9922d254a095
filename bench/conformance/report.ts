/** Renders the results as text, with a line per fact for the terminal, and tables and reasons for the page. */
import type { Verdict } from "./verdict.ts";
import type { Weakness } from "./weaknesses.ts";

/** Names of the stores under test, in the order of the table. */
export const STORES = { Ours: "Palimpsest", Sdk032: "agents 0.32", Sdk020: "agents 0.20" } as const;
export type StoreName = keyof typeof STORES;
export const STORE_NAMES = Object.keys(STORES) as StoreName[];

/** One fact with every store's verdict. */
export interface Line {
  readonly id: string;
  readonly area: string;
  readonly says: string;
  readonly shows?: Weakness | undefined;
  readonly verdicts: Readonly<Record<StoreName, Verdict>>;
}

const SIGNS = { holds: "yes", fails: "NO", none: "–" } as const;

export function renderLine({ id, verdicts }: Line): string {
  const signs = STORE_NAMES.map((name) => `${STORES[name]} ${SIGNS[verdicts[name].kind]}`.padEnd(16)).join("  ");
  const why = verdicts.Ours.kind === "holds" ? "" : `\n    ${verdicts.Ours.why}`;
  return `${id.padEnd(36)} ${signs}${why}`;
}

export function renderCounts(lines: readonly Line[]): string {
  return STORE_NAMES.map((name) => {
    const count = (kind: Verdict["kind"]): number =>
      lines.filter(({ verdicts }) => verdicts[name].kind === kind).length;
    return `${STORES[name]}: ${count("holds")} of ${lines.length} facts hold, ${count("fails")} do not, ${count("none")} are about something it does not have.`;
  }).join("\n");
}

export function renderPage(results: {
  readonly date: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly lines: readonly Line[];
}): string {
  const { date, versions, lines } = results;
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const areas = [...new Set(lines.map(({ area }) => area))];
  return `${[
    "# Conformance",
    `Written by \`npm run conformance\` on ${date}, with ${list.join(", ")}. One sentence is one fact, checked on each store in a Durable Object of its own, through the store's public methods. "–": the store has no way to do what the fact is about. What a store failed, and how, is in \`bench/conformance.json\` of the repository.`,
    renderCounts(lines).replaceAll("\n", "  \n"),
    ...areas.map((area) =>
      renderArea(
        area,
        lines.filter((line) => line.area === area),
      ),
    ),
  ].join("\n\n")}\n`;
}

function renderArea(area: string, lines: readonly Line[]): string {
  const head = `| ${STORE_NAMES.map((name) => STORES[name]).join(" | ")} | |\n|${" :-: |".repeat(STORE_NAMES.length)} --- |`;
  const rows = lines.map(({ says, verdicts }) => {
    const signs = STORE_NAMES.map((name) => SIGNS[verdicts[name].kind]);
    return `| ${signs.join(" | ")} | ${says} |`;
  });
  return `## ${area[0]?.toUpperCase()}${area.slice(1)}\n\n${head}\n${rows.join("\n")}`;
}
