/** The stored figures on readers, and the exam on the bundled conversation. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EXAM, THRESHOLD, TRANSCRIPT, UNTIL } from "../../bench/minds/recorded.ts";
import { KINDS, meansOf, readScores } from "../../bench/minds/scores.ts";
import { readRecorded } from "../../bench/minds/recorded.ts";
import { tellScores } from "../../bench/minds/tell.ts";
import { readResults } from "../../bench/report/results.ts";
import { readQuestions, verifyExam } from "../../scripts/cli/eval/exam.ts";
import { readSession } from "../../scripts/cli/eval/session.ts";

test("every question on the bundled conversation has evidence that stands in a hidden message", async () => {
  const session = await readSession(TRANSCRIPT, { thresholds: [THRESHOLD], until: UNTIL });
  const { questions, dropped } = verifyExam(readQuestions(JSON.parse(readFileSync(EXAM, "utf8"))), session);
  expect(dropped).toEqual([]);
  expect(questions).toHaveLength(20);
  expect(new Set(questions.map(({ kind }) => kind))).toEqual(new Set(KINDS));
});

test("each row of the present version and of the SDK has its kinds and tokens, and what has none is named", () => {
  const { scores, plays, notRecorded } = readScores();
  const told = (session: string): boolean => notRecorded.some((each) => each.includes(session));
  for (const row of scores.filter(({ arm }) => arm === "palimpsest 0.1.0" || arm === "agents/sessions 0.32")) {
    if (told(row.session) && row.byKind === undefined) continue;
    expect(Object.keys(row.byKind ?? {}).length, `${row.arm}, ${row.session}`).toBeGreaterThan(3);
    expect(row, `${row.arm}, ${row.session}`).toMatchObject({
      inputTokens: expect.any(Number),
      outputTokens: expect.any(Number),
    });
  }
  // Of the last play of each session.
  const own = [
    ...scores.filter(
      ({ arm, set, session }) => arm === "palimpsest 0.1.0" && (set === "show" || /-zh$|-ja$/.test(session)),
    ),
    ...plays,
  ];
  const sum = (field: "calls" | "compactions"): number => own.reduce((total, row) => total + (row[field] ?? 0), 0);
  expect([sum("calls"), sum("compactions")]).toEqual([42, 37]);
});

test("stored figures name a known arm, and each session was measured in every arm of its day", () => {
  const { arms, scores, byKind } = readScores();
  for (const { arm } of [...scores, ...byKind]) expect(Object.keys(arms)).toContain(arm);
  for (const { score, wrong, questions } of scores) {
    expect(score).toBeLessThanOrEqual(1);
    expect(score).toBeGreaterThanOrEqual(-0.5);
    expect(wrong).toBeLessThanOrEqual(questions);
  }
  const once = scores.map(({ session, threshold, arm, date }) => JSON.stringify([session, threshold, arm, date]));
  expect(new Set(once).size).toBe(once.length);
});

test("means count each session the same, and tell days and uses apart", () => {
  const row = {
    session: "a",
    threshold: 1,
    set: "show",
    date: "2026-11-27",
    questions: 20,
    arm: "x",
    wrong: 0,
  } as const;
  const means = meansOf([
    { ...row, score: 0.2 },
    { ...row, session: "b", score: 0.6, wrong: 1 },
    { ...row, score: 1, set: "choose" },
    { ...row, score: 0, date: "2026-11-28" },
  ]);
  expect(means).toMatchObject([
    { set: "show", date: "2026-11-27", sessions: 2, questions: 40, score: 0.4, least: 0.2, wrong: 1 },
    { set: "choose", score: 1 },
    { date: "2026-11-28", score: 0 },
  ]);
});

test("the stored result has all stored figures", async () => {
  const { minds } = await readResults();
  expect(minds?.finding.tables).toEqual(tellScores(readScores(), readRecorded()).tables);
});
