/** A summary that is written anew must be smaller than it was, the names beside it included (V3). */
import { expect, test } from "vitest";
import { newAgent, refusalOf } from "../../agents.ts";
import { talk } from "../../conversation.ts";

const sessionId = "anew";

test("a longer text over the last summary alone makes no view larger, although an earlier summary once showed the names (V3)", async () => {
  const { agent } = newAgent();
  await agent.appendAll({ sessionId, messages: talk(0, 30) });
  const put = (summary: string, fromMessageId: string, toMessageId: string) =>
    agent.addCompaction({ sessionId, summary, fromMessageId, toMessageId });
  await put("They talked.", "m1", "m9");
  let { id } = await put("They talked on.", "m10", "m25");
  const sizes = [(await agent.getView({ sessionId })).tokens];
  for (let more = 1; more <= 6; more++) {
    const ref = `palimpsest:overlay:${id}`;
    await refusalOf(async () => ({ id } = await put(`They talked on${", and on".repeat(more)}.`, ref, ref)));
    sizes.push((await agent.getView({ sessionId })).tokens);
  }
  expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
});
