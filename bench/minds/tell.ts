/** The stored figures on readers as a finding. */
import { KINDS, meansOf, type KindMeans, type Play, type Score, type Scores } from "./scores.ts";
import type { Cell, Finding } from "../report/finding.ts";
import { THRESHOLD, UNTIL, type Recorded } from "./recorded.ts";

export function tellScores({ arms, scores, plays, byKind, notRecorded }: Scores, recorded: Recorded | null): Finding {
  return {
    title: "What a reader still knows",
    about: [
      "A session is played into each store up to a cut, with the same strong reader as summariser. Another reader, who sees the view at the cut and nothing else, answers an exam on what was hidden. A third one grades without knowing whose answers they are: 1 right, 0.5 partly, 0 does not say, -0.5 wrong, weighted from 1 to 3. The score is the share of the weights. `palimpsest eval` does the same with your own models.",
      "These figures were measured on the days that the tables name, and not by this command. The sessions are recordings of other people, named here and not part of the project.",
      `The arms: ${Object.entries(arms)
        .map(([arm, what]) => `${arm} (${what})`)
        .join("; ")}.`,
      "Sessions of the use `choose` are those that prompts and limits were tried on. Nothing was shaped on those of the use `show`, but for one thing: their calls were counted before the length of an answer and the rereads were limited, and before loose quotations were mended in code. Differences of a few hundredths mean nothing.",
      "On `shift-retail-gpt5` the first run of 0.1.0 answered 0.42 and showed a defect: a summary that was carried on got too little room. The defect was mended, so the session counts as one of `choose`, and its second run stands in the tables.",
    ],
    tables: [
      {
        caption: "Means over the sessions",
        columns: [
          "arm",
          "use",
          "date",
          "sessions",
          "questions",
          "score",
          "least",
          "wrong",
          "view tokens",
          "calls",
          "tokens in",
        ],
        rows: meansOf(scores).map(({ arm, set, date, sessions, questions, score, least, wrong, ...sums }) => [
          arm,
          set,
          date,
          sessions,
          questions,
          hundredths(score),
          hundredths(least),
          wrong,
          sums.viewTokens ?? NONE,
          sums.calls ?? NONE,
          sums.inputTokens ?? NONE,
        ]),
      },
      {
        caption: "Means by the kind of what was asked",
        columns: ["arm", "use", "date", ...KINDS],
        rows: byKind.map(kindRow),
      },
      {
        caption: "Each session",
        columns: ["session", "threshold", "arm", "use", "date", "questions", "score", "wrong", ...COUNTS],
        rows: scores.map(sessionRow),
      },
      {
        caption: "Each session by the kind of what was asked",
        columns: ["session", "arm", "date", ...KINDS],
        rows: scores.flatMap(({ session, arm, date, byKind: kinds }) =>
          kinds === undefined ? [] : [[session, arm, date, ...KINDS.map((kind) => shareOf(kinds[kind]))]],
        ),
      },
      {
        caption: "Played without an exam",
        columns: ["session", "threshold", "arm", "use", "date", ...COUNTS],
        rows: plays.map((play) => [play.session, play.threshold, play.arm, play.set, play.date, ...countsOf(play)]),
      },
      {
        caption: `The project's own conversation, ${UNTIL} messages at ${THRESHOLD.toLocaleString("en")} tokens, whose answers are recorded and replayed in a test`,
        columns: ["what a reader saw", "date", "score"],
        rows: Object.entries(recorded?.scores ?? {}).map(([seen, score]) => [
          seen,
          recorded?.date ?? "",
          hundredths(score),
        ]),
      },
    ],
    checks: [],
    unmeasured: ["whether an agent's work after the cut succeeds", ...notRecorded],
  };
}

const NONE = "–";
const COUNTS = ["view tokens", "compactions", "calls", "tokens in", "tokens out"];

function kindRow(means: KindMeans): Cell[] {
  return [means.arm, means.set, means.date, ...KINDS.map((kind) => hundredths(means[kind]))];
}

function sessionRow(row: Score): Cell[] {
  const { session, threshold, arm, set, date, questions, score, wrong } = row;
  return [session, threshold, arm, set, date, questions, hundredths(score), wrong, ...countsOf(row)];
}

function countsOf(play: Play): Cell[] {
  const counts = [play.viewTokens, play.compactions, play.calls, play.inputTokens, play.outputTokens];
  return counts.map((each) => each ?? NONE);
}

function shareOf(share: number | undefined): Cell {
  return share === undefined ? NONE : hundredths(share);
}

/** Shares are told with two digits, also the whole ones. */
function hundredths(share: number): string {
  return share.toFixed(2);
}
