/** The Worker dies during an update of notes, or before a compaction takes them, and starts again on the same storage. */
import { expect, test } from "vitest";
import { NOTED, Stage } from "./stage.ts";

/** Talks until the summariser was asked once more. */
async function sayUntilAsked(stage: Stage): Promise<void> {
  const before = stage.model.asked.length;
  while (stage.model.asked.length === before) await stage.say();
}

/** After every kill, each message is stored as it was said, and no answer is paid for twice. */
async function expectWhole(stage: Stage): Promise<void> {
  expect(stage.model.askedAgain).toEqual([]);
  expect(Math.max(...stage.model.timesAsked.values())).toBeLessThanOrEqual(2);
  expect(stage.model.asked.every(({ kind }) => kind === "notes")).toBe(true);
  const seen = await stage.look();
  expect(seen.stored).toEqual(stage.said);
  expect(seen.view.tokens).toBeLessThanOrEqual(seen.status.thresholdTokens ?? 0);
  expect(seen.status.liveRunIds).toEqual([]);
}

test("an update whose Worker got SIGKILL leaves the version before in force until it is done, by itself (C1, R1, R3)", async () => {
  await using stage = await Stage.open(NOTED);
  await sayUntilAsked(stage);
  const { notes: before } = await stage.until(({ notes }) => notes.length === 1);
  stage.model.answers = () => false;
  await sayUntilAsked(stage);
  await stage.kill();
  expect(stage.model.unanswered).toHaveLength(1);
  expect(await stage.ledger()).toMatchObject({
    runs: [{ outcome: { kind: "noted", version: 1 } }, { kind: "notes", outcome: null }],
    notes: before,
  });

  stage.model.answers = () => true;
  await stage.restart();
  const { runs, notes } = await stage.untilEnded();
  expect(runs.map(({ outcome }) => outcome)).toMatchObject([
    { kind: "noted", version: 1 },
    { kind: "noted", version: 2 },
  ]);
  expect(notes.map(({ n, standing }) => [n, standing])).toEqual([
    [1, 1],
    [2, 1],
  ]);
  expect(notes[0]).toEqual(before[0]);
  expect(stage.model.asked).toHaveLength(3);
  await expectWhole(stage);
});

test.for(["while it waits for the notes", "as the notes are there"] as const)(
  "a compaction from notes whose Worker got SIGKILL %s commits once, and asks nobody for a summary (C1, R1, R3)",
  async (moment) => {
    await using stage = await Stage.open(NOTED);
    stage.model.answers = () => false;
    await sayUntilAsked(stage);
    // Appends until the threshold is crossed. The update has no answer yet, and the compaction waits for it.
    while ((await stage.ledger()).runs.every(({ kind }) => kind === "notes")) await stage.say();
    expect(await stage.ledger()).toMatchObject({
      runs: [{ outcome: null }, { kind: "compaction", state: "pending" }],
      notes: [],
    });
    await stage.kill();
    if (moment === "as the notes are there") {
      // It has its answer now, and the Worker dies once more as soon as that is stored.
      const asked = stage.model.asked.length;
      stage.model.answers = () => stage.model.asked.length === asked + 1;
      await stage.restart();
      await stage.until(({ notes }) => notes.length === 1);
      await stage.kill();
      const { runs, overlays } = await stage.ledger();
      expect(runs[0]).toMatchObject({ outcome: { kind: "noted", version: 1 } });
      // Whole or not at all, because the signal may have come after the commit.
      expect(overlays).toBe(runs[1]?.outcome?.kind === "applied" ? 1 : 0);
    }

    stage.model.answers = () => true;
    await stage.restart();
    const { runs, notes, overlays } = await stage.untilEnded();
    expect(runs[0]).toMatchObject({ outcome: { kind: "noted", version: 1 } });
    expect(runs[1]).toMatchObject({ path: "notes", modelCalls: 0, outcome: { kind: "applied", degraded: false } });
    expect(overlays).toBe(1);
    expect(notes[0]).toMatchObject({ n: 1, standing: 1 });
    await expectWhole(stage);
  },
);
