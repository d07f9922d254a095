/** Measures how much of a view's hidden words summary and names still say. The ruler knows nothing of how names are chosen. */
import type { UIMessage } from "ai";
import type { Case } from "../case.ts";
import { makeReturning } from "../drift/conversation.ts";
import { mean } from "../drift/measure.ts";
import type { Check, Finding, Table } from "../finding.ts";
import type { Lab } from "../lab.ts";
import { readRuler, type RareWords } from "../ruler/rare-words.ts";
import { measureRescue, type Rescue } from "../ruler/rescue.ts";
import { ABSENT, listSessions } from "../transcripts.ts";

/** Shares of the threshold for summaries and names. The first is the default and the second one is for small views. */
const SHARES = [
  { name: "a fifteenth", share: 1 / 15, target: 0.6 },
  { name: "a thirtieth", share: 1 / 30, target: 0.45 },
] as const;
/** A session with fewer needed words is skipped, because it shows nothing. */
const LEAST_OPEN = 5;

interface Session {
  readonly name: string;
  readonly messages: readonly UIMessage[];
}

type Measured = Session & { readonly source: string; readonly rescue: Rescue };

export const rescued: Case = { name: "rescued", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const ruler = readRuler();
  const sessions = ruler === null ? [] : readSessions(lab);
  const measured = SHARES.map(({ share }) => (ruler === null ? [] : measureAll(sessions, ruler, share)));
  const isReal = !lab.quick && sessions.length > 1;
  return {
    title: "What summary and names bring back, by a ruler that is not ours",
    about: [
      "Of the rare words that only hidden messages say and that the user or the agent writes again within 60 messages, the share that summaries and names say. Rare: in no dictionary, or with a digit, an underscore, an inner capital, a dot or a slash.",
      "The threshold is a sixth of a session, from 3,000 to 60,000 tokens; the summariser is the offline one; planner, extractor and choice of names are the product's, without a Worker around them.",
      "The floor says no sentence: it lists the warmest rare words by the ruler's own eyes (0.99 to the power of their age, half for what only tools said) in as many characters, at the same moments.",
      "A session's name begins with its source. What is still in force has a budget of its own, and is counted on neither side.",
    ],
    tables: isReal ? SHARES.map(({ name }, at) => tableOf(name, measured[at] ?? [])) : [],
    checks: isReal ? SHARES.map(({ name, target }, at) => checkOf(name, target, measured[at] ?? [])) : [],
    unmeasured: [
      "sentences: a word counts wherever it stands, and what a summary explains is not asked for",
      "names in scripts other than Latin",
      ...(ruler === null ? ["anything: the ruler needs a word list at /usr/share/dict/words"] : []),
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

function tableOf(share: string, measured: readonly Measured[]): Table {
  const sources = [...Map.groupBy(measured, ({ source }) => source)];
  return {
    caption: `Summary and names together ${share} of the threshold`,
    columns: ["source", "sessions", "rescued", "floor", "worst session", "rescued there", "size, of the threshold"],
    rows: [...sources.map(([source, some]) => rowOf(source, some)), rowOf("all", measured)],
  };
}

function rowOf(name: string, some: readonly Measured[]) {
  const worst = some.toSorted((one, other) => shareOf(one) - shareOf(other))[0];
  return [
    name,
    some.length,
    round(mean(some.map(shareOf))),
    round(mean(some.map(({ rescue }) => rescue.floor / rescue.open))),
    worst?.name ?? "",
    worst === undefined ? "" : round(shareOf(worst)),
    round(mean(some.map(({ rescue }) => rescue.size))),
  ];
}

function checkOf(share: string, target: number, measured: readonly Measured[]): Check {
  const claim = `rescued, mean over sessions, with summary and names in ${share} of the threshold`;
  return { claim, measured: round(mean(measured.map(shareOf))), target, better: "more" };
}

function shareOf({ rescue }: Measured): number {
  return rescue.rescued / rescue.open;
}

function round(share: number): number {
  return Math.round(share * 1_000) / 1_000;
}
