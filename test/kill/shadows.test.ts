/** The Worker dies while a shadow of an ended run is made, and starts again on the same storage. No call wakes it. */
import { expect, test } from "vitest";
import { SMALL, Stage } from "./stage.ts";

const SHADOW = "second";

test("a shadow whose Worker got SIGKILL is done by itself, and asks again only what was unanswered (R1, R3)", async () => {
  await using stage = await Stage.open({ ...SMALL, PALIMPSEST_THRESHOLD: "3000", PALIMPSEST_SHADOW: SHADOW });
  await stage.approach();
  const ofShadow = () => stage.model.asked.filter(({ model }) => model === SHADOW);
  // The run and three chunks of its shadow have their answers.
  stage.model.answers = ({ model }) => model !== SHADOW || ofShadow().length <= 3;
  await stage.say();
  await stage.until(() => ofShadow().length === 4);
  await stage.kill();
  const before = await stage.ledger();
  expect(before).toMatchObject({
    runs: [{ outcome: { kind: "applied", degraded: false } }],
    shadows: [{ name: SHADOW, outcome: null, calls: 3 }],
    shadowRuns: 1,
  });
  expect(stage.model.unanswered.map(({ model }) => model)).toEqual([SHADOW]);

  stage.model.answers = () => true;
  await stage.restart();
  const after = await stage.until(({ shadows }) => shadows.every(({ outcome }) => outcome !== null));
  expect(after.shadows).toMatchObject([{ outcome: { kind: "kept" } }]);
  expect(after.runs).toEqual(before.runs);
  expect(stage.model.askedAgain).toEqual([]);
  expect(Math.max(...stage.model.timesAsked.values())).toBe(2);
  // The watchdog looks until the Workflow has ended, and no longer.
  await stage.until(({ shadowRuns }) => shadowRuns === 0);
});
