/** The promises of ours in a contest. Each must hold in every draw, so the measured value is the worst draw's. */
import type { Check } from "../finding.ts";
import { mean } from "../stats.ts";
import { isOurs, policiesOf, whole, type Contest, type Draw } from "./contest.ts";
import type { Track } from "./follow.ts";
import { COMPARED, leadsOf, rivalsIn, trackOf } from "./leads.ts";
import { count, shareOf } from "./tally.ts";

/** Views whose tokens differ by at most this factor count as equal. */
const EQUAL = 1.05;

/** Each of ours is behind no rival at any depth with a view that is no larger, and keeps the rules. */
export function checksOf(contest: Contest, depths: readonly number[]): Check[] {
  const all = policiesOf(contest).filter(isOurs);
  if (all.length === 0) throw new Error("Ours is not among the policies.");
  return all.flatMap((ours) => checksOfOne(ours, contest, depths));
}

function checksOfOne(ours: string, contest: Contest, depths: readonly number[]): Check[] {
  const { conversation, summariser, over, draws } = contest;
  const where = `${conversation}, ${summariser}${draws.length > 1 ? `, the worst of ${draws.length} ${over}` : ""}`;
  return [
    {
      claim: `${where}: mean view of ${ours}, over the smallest of any policy`,
      measured: Math.max(...draws.map((draw) => sizeOverSmallest(draw, ours))),
      target: EQUAL,
    },
    ...leadChecks(`${where}: ${ours} is not behind any rival, its least lead`, ours, { contest, depths }),
    {
      claim: `${where}: the user's rules in view, ${ours}, the least`,
      measured: Math.min(...draws.map((draw) => leastRules(trackOf(draw, ours)))),
      target: 1,
      better: "more",
    },
  ];
}

/** A tie keeps the promise, because nobody can lead where both reach everything. */
function leadChecks(
  claim: string,
  ours: string,
  { contest, depths }: { readonly contest: Contest; readonly depths: readonly number[] },
): Check[] {
  // Rules have a stricter check than a lead.
  const compared = COMPARED.filter(({ counting }) => counting.matter !== "rule");
  const atDepths = compared.flatMap(({ name, counting }): Check[] => {
    const leads = leadsOf(contest, ours, { depths, counting }).map(({ by }) => by);
    // A conversation may have no open tasks. A conversation without names was not judged at all.
    if (leads.length === 0 && counting.matter === "names") throw new Error(`Nothing of ${ours} was compared: ${name}.`);
    if (leads.length === 0) return [];
    return [{ claim: `${claim} at any depth, ${name}`, measured: Math.min(...leads), target: 0, better: "more" }];
  });
  const measured = Math.min(...contest.draws.flatMap((draw) => wordLeads(draw, ours)));
  return [
    ...atDepths,
    { claim: `${claim} over all compactions, rare words in view`, measured, target: 0, better: "more" },
  ];
}

/**
 * At one depth, policies may stand at different messages, and one message has a larger share of the rare words than of the names. The mean
 * over all compactions evens that out.
 */
function wordLeads(draw: Draw, ours: string): number[] {
  const own = wordsIn(trackOf(draw, ours));
  return rivalsIn(draw).map((rival) => own - wordsIn(rival));
}

function wordsIn({ verdicts }: Track): number {
  return shareOf(verdicts.map((verdict) => count(verdict, whole("word"))));
}

function sizeOverSmallest(draw: Draw, ours: string): number {
  const smallest = Math.min(...draw.tracks.map(({ viewTokens }) => mean(viewTokens)));
  return mean(trackOf(draw, ours).viewTokens) / smallest;
}

/** The least share of rules after any compaction. */
function leastRules({ verdicts }: Track): number {
  return Math.min(...verdicts.map((verdict) => shareOf([count(verdict, whole("rule"))])));
}
