/** Measures how much of a view's hidden words each policy still says. The ruler knows nothing of how names are chosen. */
import type { UIMessage } from "ai";
import type { Case } from "../case.ts";
import { makeReturning } from "../drift/conversation.ts";
import { mean } from "../drift/measure.ts";
import type { Cell, Check, Finding, Table } from "../report/finding.ts";
import type { Lab } from "../lab.ts";
import { NO_RULER, readRuler, type RareWords } from "../ruler/rare-words.ts";
import { measureRescue, type Rescue } from "../ruler/rescue.ts";
import { CANDIDATES, leaveEachOut, type LeftOut } from "../ruler/settings.ts";
import { ABSENT, listSessions } from "../transcripts.ts";

/** Shares of the threshold for summaries and names. The first is the default and the second one is for small views. */
const SHARES = [
  { name: "a fifteenth", share: 1 / 15, target: 0.75 },
  { name: "a thirtieth", share: 1 / 30, target: 0.58 },
] as const;
/** A session with fewer needed words is skipped, because it shows nothing. */
const LEAST_OPEN = 5;

/** The kind of work of each source. */
const DOMAINS: Readonly<Record<string, string>> = {
  aider: "coding",
  cipherbox: "coding",
  entire: "coding",
  specstory: "coding",
  sweagent: "coding",
  cua: "operations",
  tielec: "operations",
  shift: "service",
  tau2: "service",
  whowhen: "web",
  deerflow: "research",
};

interface Session {
  readonly name: string;
  readonly messages: readonly UIMessage[];
}

type Measured = Session & { readonly source: string; readonly rescue: Rescue };

export const fidelity: Case = { name: "fidelity", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const ruler = readRuler();
  const sessions = ruler === null ? [] : readSessions(lab);
  const measured = SHARES.map((each) => ({
    ...each,
    sessions: ruler === null ? [] : measureAll(sessions, ruler, each.share),
  }));
  const isReal = !lab.quick && sessions.length > 1;
  return {
    title: "What is still there of what a view hides",
    about: [
      "Needed are the rare words of hidden messages that the user or the agent writes again within 60 messages. Of those that head and tail do not show, rescued is the share that summaries and names say. A word is rare in no dictionary, or with a digit, an underscore, an inner capital, a dot or a slash.",
      "The ruler shares nothing with the choice of names. It judges ASCII names only.",
      "The threshold is a sixth of a session, from 3,000 to 60,000 tokens. The summariser is the offline one. Planner, extractor and choice of names are the product's, without a Worker around them.",
      "All policies have the same head and tail at the same moments. “The summary alone” has no names. The floor has no sentence: it lists the warmest rare words by the ruler's own dictionary (0.99 to the power of their age, half for what only tools said) in as many characters as ours.",
      "For each source, the candidate weights of names that are best on all other sources are taken, and measured on the one that was left out. What a summary may take of the room, and what counts as a word, was looked at over all sources, so the mean of that is still a little too good for a source that nobody has seen.",
      "A session's name begins with its source. Sizes include the sentence that frames a summary. What is still in force has a budget of its own and is counted on no side.",
    ],
    tables: isReal ? measured.flatMap(({ name, sessions: some }) => tablesOf(name, some)) : [],
    checks: isReal ? measured.flatMap(checksOf) : [],
    unmeasured: [
      "sentences: a word counts wherever it stands, and what a summary explains is not asked for",
      "names in scripts other than Latin",
      "the sessions of the Agents SDK, which show no names beside a summary: head and tail is their part of a view here",
      ...(ruler === null ? [NO_RULER] : []),
      ...(isReal ? [] : [ABSENT]),
    ],
  };
}

function readSessions(lab: Lab): Session[] {
  if (lab.quick) return [{ name: "generated", messages: makeReturning(30, 1) }];
  return listSessions().map(({ name, text }) => ({
    name,
    messages: text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [JSON.parse(line) as UIMessage])),
  }));
}

function measureAll(sessions: readonly Session[], ruler: RareWords, share: number): Measured[] {
  return sessions
    .map((session) => ({
      ...session,
      source: session.name.split("-")[0] ?? "",
      rescue: measureRescue(session.messages, ruler, share),
    }))
    .filter(({ rescue }) => rescue.open >= LEAST_OPEN);
}

function tablesOf(share: string, measured: readonly Measured[]): Table[] {
  const bySource = [...Map.groupBy(measured, ({ source }) => source)];
  const leftOut = leaveOut(measured);
  const byDomain = [...Map.groupBy(measured, ({ source }) => DOMAINS[source] ?? "other")];
  const columns = [
    "head and tail",
    "rescued by ours",
    "by the summary alone",
    "by the floor",
    "size, of the threshold",
  ];
  return [
    {
      caption: `Summary and names together ${share} of the threshold, by source`,
      columns: ["source", "sessions", ...columns, "largest size", "worst session", "rescued there"],
      rows: [
        ...bySource.map(([source, some]) => [source, some.length, ...meansOf(some), largestOf(some), ...worstOf(some)]),
        ["all sessions", measured.length, ...meansOf(measured), largestOf(measured), ...worstOf(measured)],
      ],
    },
    {
      caption: `Summary and names together ${share} of the threshold, by kind of work`,
      columns: ["kind of work", "sessions", ...columns],
      rows: byDomain.map(([domain, some]) => [domain, some.length, ...meansOf(some)]),
    },
    {
      caption: `Weights chosen on the other sources, ${share} of the threshold, and every candidate on each source`,
      columns: [
        "source left out",
        "best on the others",
        "rescued there, left out",
        ...CANDIDATES.map(({ name }) => name),
      ],
      rows: [
        ...leftOut.map(({ source, chosen, score, scores }) => [source, chosen, ...[score, ...scores].map(round)]),
        [ALL_SOURCES, "", ...meansOfLeftOut(leftOut)],
      ],
    },
  ];
}

/** The row with the means over sources that were left out. */
const ALL_SOURCES = "mean over sources";

function meansOfLeftOut(leftOut: readonly LeftOut[]): number[] {
  const columns = CANDIDATES.map((_, at) => leftOut.map(({ scores }) => scores[at] ?? 0));
  return [leftOut.map(({ score }) => score), ...columns].map((scores) => round(mean(scores)));
}

function leaveOut(measured: readonly Measured[]): LeftOut[] {
  return leaveEachOut(
    measured.map(({ source, rescue }) => ({
      source,
      scores: rescue.byCandidate.map((rescued) => rescued / rescue.open),
    })),
  );
}

function meansOf(some: readonly Measured[]): Cell[] {
  const rates: readonly ((rescue: Rescue) => number)[] = [
    ({ needed, open }) => (needed - open) / needed,
    ({ rescued, open }) => rescued / open,
    ({ summaryAlone, open }) => summaryAlone / open,
    ({ floor, open }) => floor / open,
    ({ size }) => size,
  ];
  return rates.map((rate) => round(mean(some.map(({ rescue }) => rate(rescue)))));
}

function largestOf(some: readonly Measured[]): number {
  return round(Math.max(...some.map(({ rescue }) => rescue.size)));
}

function worstOf(some: readonly Measured[]): Cell[] {
  const [worst] = some.toSorted((one, other) => shareOf(one) - shareOf(other));
  return worst === undefined ? ["", ""] : [worst.name, round(shareOf(worst))];
}

function checksOf({ name, target, sessions }: (typeof SHARES)[number] & { sessions: readonly Measured[] }): Check[] {
  const room = `with summary and names in ${name} of the threshold`;
  const domains = [...Map.groupBy(sessions, ({ source }) => DOMAINS[source] ?? "other")];
  const least = domains.map(([, some]) => {
    const floor = mean(some.map(({ rescue }) => rescue.floor / rescue.open));
    return mean(some.map(shareOf)) - floor;
  });
  return [
    {
      claim: `rescued, mean over sessions, ${room}`,
      measured: round(mean(sessions.map(shareOf))),
      target,
      better: "more",
    },
    {
      claim: `rescued beyond the floor, in the kind of work where that is least, ${room}`,
      measured: round(Math.min(...least)),
      target: 0,
      better: "more",
    },
    {
      claim: `rescued, mean over sources, each with weights that were chosen on the others, ${room}`,
      measured: round(mean(leaveOut(sessions).map(({ score }) => score))),
      target,
      better: "more",
    },
  ];
}

function shareOf({ rescue }: Measured): number {
  return rescue.rescued / rescue.open;
}

function round(share: number): number {
  return Math.round(share * 1_000) / 1_000;
}
