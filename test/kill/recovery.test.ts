/** The Worker dies in the middle of a run and starts again on the same storage. No call wakes it, and the run ends by itself. */
import { PARALLEL_CHUNKS } from "../../src/limits.ts";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { everything } from "../tries.ts";
import type { Asked } from "./model-server.ts";
import { everyNth, Stage } from "./stage.ts";

/** One run, applied once, by a model. Every message is stored as it was said, the view fits, and no answer is paid for twice. */
async function expectWhole(stage: Stage, kills: number): Promise<void> {
  const { runs, overlays } = await stage.untilEnded();
  expect(runs.map((run) => run.outcome)).toEqual([expect.objectContaining({ kind: "applied", degraded: false })]);
  expect(overlays).toBe(1);
  expect(stage.model.askedAgain).toEqual([]);
  expect(Math.max(...stage.model.timesAsked.values())).toBeLessThanOrEqual(1 + kills);
  const seen = await stage.look();
  expect(seen.stored).toEqual(stage.said);
  expect(seen.overlays).toMatchObject([{ runId: runs[0]?.id }]);
  expect(seen.view.tokens).toBeLessThan(seen.status.thresholdTokens ?? 0);
  expect(seen.status.liveRunIds).toEqual([]);
}

/** Lets the summariser answer the next calls, and no more. Resolves when as many further calls as a run makes at once hang. */
async function answerOnly(stage: Stage, calls: number): Promise<void> {
  const before = stage.model.asked.length;
  stage.model.answers = () => stage.model.asked.length <= before + calls;
  await stage.untilAsked(before + calls + PARALLEL_CHUNKS);
}

test.for(everything ? (["SIGKILL", "SIGINT"] as const) : (["SIGKILL"] as const))(
  "a run whose Worker got %s in mid-summary ends by itself and pays for no finished chunk twice (R1, R3, M1)",
  async (signal) => {
    await using stage = await Stage.open();
    await stage.approach();
    await Promise.all([answerOnly(stage, 2), stage.say()]);
    await stage.kill(signal);
    expect(stage.model.unanswered).toHaveLength(PARALLEL_CHUNKS);
    expect(await stage.ledger()).toMatchObject({ runs: [{ outcome: null }], drafts: 2, overlays: 0 });

    stage.model.answers = () => true;
    await stage.restart();
    await expectWhole(stage, 1);
  },
);

test.runIf(everything)(
  "a run whose Worker died right behind the append that asked for it starts and ends by itself (R1)",
  async () => {
    await using stage = await Stage.open();
    await stage.approach();
    await stage.say();
    await stage.kill();
    expect(await stage.ledger()).toMatchObject({ runs: [{ outcome: null, startedAt: null }], drafts: 0 });
    expect(stage.model.asked).toEqual([]);

    await stage.restart();
    await expectWhole(stage, 1);
  },
);

test.runIf(everything)("a run whose Worker died twice keeps what each life finished (R1, R3)", async () => {
  await using stage = await Stage.open();
  await stage.approach();
  await Promise.all([answerOnly(stage, 2), stage.say()]);
  await stage.kill();
  await Promise.all([answerOnly(stage, 2), stage.restart()]);
  await stage.kill();
  expect(stage.model.unanswered).toHaveLength(2 * PARALLEL_CHUNKS);
  expect(await stage.ledger()).toMatchObject({ runs: [{ outcome: null }], drafts: 4, overlays: 0 });

  stage.model.answers = () => true;
  await stage.restart();
  await expectWhole(stage, 2);
});

test.for(everything ? [0, 3, 6, 9, 12] : [0])(
  "a run whose Worker died %s ms after the answer to its last merge commits once, and asks for that again only where it was not stored (C1, R3)",
  async (delayMs) => {
    await using stage = await Stage.open();
    await stage.approach();
    // The chunks make two drafts, and those one.
    const last = (): Asked | undefined => stage.model.asked.filter((each) => each.kind === "merge")[2];
    const isLast = (asked: Asked): boolean => asked === last();
    await Promise.all([stage.killBehindAnswer(isLast, delayMs), stage.say()]);
    const { key } = last() ?? {};
    expect(key).toBeDefined();
    const { draftTexts } = await stage.ledger();
    const isStored = draftTexts.some((text) => text.includes(key ?? ""));

    await stage.restart();
    await stage.untilEnded();
    expect(stage.model.askedAgain.map((again) => again.key)).toEqual(isStored ? [] : [key]);
    const { overlays, stored } = await stage.look();
    expect(overlays).toHaveLength(1);
    expect(stored).toEqual(stage.said);
  },
);

test.runIf(everything).for([0, 2, 4, 8])(
  "a run whose Worker died %s ms after an answer left its model asks for that one again only where it was not stored (R3, M1)",
  async (delayMs) => {
    await using stage = await Stage.open();
    await stage.approach();
    // This call is made when the answers to the first two are stored. It alone of all open calls is answered then.
    const nth = 2 + PARALLEL_CHUNKS;
    stage.model.answers = () => stage.model.asked.length <= 2 || stage.model.asked.length === nth;
    await Promise.all([stage.killBehindAnswer((asked) => asked === stage.model.asked[nth - 1], delayMs), stage.say()]);
    const aimed = stage.model.asked[nth - 1];
    if (aimed === undefined) throw new Error("It was not asked so often.");
    expect(stage.model.asked.filter(({ answered }) => answered)).toHaveLength(3);
    const { drafts, draftTexts } = await stage.ledger();
    const isStored = draftTexts.some((text) => text.includes(aimed.key));
    expect(drafts).toBe(isStored ? 3 : 2);

    stage.model.answers = () => true;
    await stage.restart();
    await stage.untilEnded();
    expect(stage.model.askedAgain.map(({ key }) => key)).toEqual(isStored ? [] : [aimed.key]);
    const seen = await stage.look();
    expect(seen.stored).toEqual(stage.said);
    expect(seen.status.liveRunIds).toEqual([]);
  },
);

/** Over a million tokens, some two hundred and fifty in each message. */
function backlog(): UIMessage[] {
  return Array.from({ length: 4_200 }, (_, n) => {
    const text = `Step ${n}: we moved the part ${n} of the store behind its port, and its test ${n} holds it there. `;
    return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text: text.repeat(8) }] };
  });
}

test.runIf(everything)(
  "a Worker that dies in the middle of a million tokens asks again only what was unanswered (R1, R3, M1)",
  async () => {
    await using stage = await Stage.open({
      PALIMPSEST_MODEL_WINDOW: "32000",
      PALIMPSEST_CHUNK_TOKENS: "8000",
      PALIMPSEST_THRESHOLD: "60000",
    });
    const held = answerOnly(stage, 100);
    await stage.bring(backlog());
    await held;
    await stage.kill();
    expect(await stage.ledger()).toMatchObject({ drafts: 100 });

    stage.model.answers = () => true;
    await stage.restart();
    const { runs } = await stage.untilEnded();
    for (const { outcome } of runs) expect(outcome).toMatchObject({ kind: "applied", degraded: false });
    expect(stage.model.askedAgain).toEqual([]);
    expect(stage.model.asked).toHaveLength(stage.model.timesAsked.size + PARALLEL_CHUNKS);
    // As many messages as one client may ask for at once.
    const seen = await stage.look(60);
    expect(seen.stored).toEqual(everyNth(stage.said, 60));
    expect(seen.view.tokens).toBeLessThan(60_000);
    expect(seen.status.liveRunIds).toEqual([]);
  },
);
