/** What a store does when something goes wrong, as counts of the conformance suite's facts and as known weaknesses. */
import type { Case } from "../../case.ts";
import type { Cell, Finding } from "../../report/finding.ts";
import { checkFacts } from "../../conformance/check.ts";
import { FACTS } from "../../conformance/facts.ts";
import { STORE_NAMES, STORES, type Line } from "../../conformance/report.ts";
import type { Verdict } from "../../conformance/verdict.ts";
import { WEAKNESSES, type Weakness } from "../../conformance/weaknesses.ts";

const QUICK_AREA = "races";
/**
 * Weaknesses that cannot show here. Local SQLite takes rows of 8 MiB where Cloudflare's takes 2 MB, so every store keeps a large message,
 * in one row or in many.
 */
const HIDDEN_HERE: ReadonlySet<Weakness> = new Set(["large message"]);
const HIDDEN = "not measurable here";

export const behaviours: Case = {
  name: "behaviours",
  timed: false,
  measure: ({ quick }) => measure(FACTS.filter(({ area }) => !quick || area === QUICK_AREA)),
};

async function measure(facts: typeof FACTS): Promise<Finding> {
  const lines = await checkFacts(facts);
  const areas = [...new Set(lines.map(({ area }) => area))];
  const weaknesses = countWeaknesses(lines);
  return {
    title: "What stores do when something goes wrong",
    about: [
      `${lines.length} facts, each a sentence that holds or does not, checked on each store through its public methods; all of them are in [CONFORMANCE.md](../CONFORMANCE.md).`,
      "“–”: about something that a store has no way to do.",
      `A weakness that is "${HIDDEN}" shows on Cloudflare alone: it counts for nobody and against nobody.`,
    ],
    tables: [
      {
        caption: "Facts that hold.",
        columns: ["area", "facts", ...STORE_NAMES.flatMap((name) => [STORES[name], "–"])],
        rows: [
          ...areas.map((area) =>
            countFacts(
              area,
              lines.filter((line) => line.area === area),
            ),
          ),
          countFacts("all", lines),
        ],
      },
      {
        caption: "Known weaknesses. A store passes where every fact holds that would show one.",
        columns: ["weakness", ...STORE_NAMES.map((name) => STORES[name])],
        rows: weaknesses,
      },
    ],
    checks: [
      {
        claim: "facts that do not hold for ours",
        measured: lines.filter(({ verdicts }) => verdicts.Ours.kind !== "holds").length,
        target: 0,
      },
      {
        claim: "known weaknesses that ours has",
        measured: weaknesses.filter(([, ours]) => ours !== SIGNS.holds && ours !== HIDDEN).length,
        target: 0,
      },
    ],
    unmeasured: [
      "facts about which nobody thought to ask: they were written by us, many of them after what the others fail",
      "messages of more than two megabytes: the local SQLite takes rows of 8 MiB, Cloudflare's of 2 MB, so that the fact about one of three megabytes, which is counted above, holds for every store here and says nothing of Cloudflare",
    ],
  };
}

const SIGNS: Readonly<Record<Verdict["kind"], string>> = { holds: "pass", fails: "FAIL", none: "–" };

function countFacts(area: string, lines: readonly Line[]): Cell[] {
  const counts = STORE_NAMES.flatMap((name) =>
    (["holds", "none"] as const).map((kind) => lines.filter(({ verdicts }) => verdicts[name].kind === kind).length),
  );
  return [area, lines.length, ...counts];
}

/** A row for each weakness that one of the lines would show. */
function countWeaknesses(lines: readonly Line[]): string[][] {
  return (Object.keys(WEAKNESSES) as Weakness[]).flatMap((weakness) => {
    const showing = lines.filter(({ shows }) => shows === weakness);
    if (showing.length === 0) return [];
    if (HIDDEN_HERE.has(weakness)) return [[WEAKNESSES[weakness], ...STORE_NAMES.map(() => HIDDEN)]];
    const signs = STORE_NAMES.map((name) => SIGNS[worstOf(showing.map(({ verdicts }) => verdicts[name].kind))]);
    return [[WEAKNESSES[weakness], ...signs]];
  });
}

/** A store without the feature shows nothing, unless no line applied to it. */
function worstOf(kinds: readonly Verdict["kind"][]): Verdict["kind"] {
  if (kinds.includes("fails")) return "fails";
  return kinds.includes("holds") ? "holds" : "none";
}
