/** What `plan` says beforehand, held against what the run then does. */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { estimateTokens } from "../../src/steps/tokens.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { summaryOf } from "../scripted-model.ts";

skipRetryDelays();

const BULLET = "- The parser keeps its promise.";
const HEADINGS_TOKENS = 100;

/** Rules enough to fill what is pinned beside a summary. */
const ruled = (n: number): UIMessage => {
  const table = `Never touch table number ${n} of the accounting schema in production or staging. `;
  return n % 2 === 0 ? say(n, table) : say(n);
};

test.each([2_000, 6_000, 9_000, 30_000])(
  "a run never comes out above what its plan called the most, with a full summary and full pins: threshold %i (V3)",
  async (threshold) => {
    const sessionId = `planned!${threshold}`;
    const { agent } = newAgent((prompt) => {
      // Headings take the rest: the audit counts words without the references.
      const room = (prompt.summaryTokens - HEADINGS_TOKENS) / prompt.sections.length;
      const bullets = Math.max(1, Math.floor(room / estimateTokens(`${BULLET}\n`)));
      return summaryOf(prompt, `${BULLET} [#1, #2, #3]\n`.repeat(bullets));
    });
    const messages = Array.from({ length: threshold / 100 + 40 }, (_, n) => ruled(n));
    await agent.appendAll({ sessionId, messages });
    for (const { id } of await agent.runs({ sessionId })) await agent.waitForRun({ runId: id });
    await agent.appendAll({ sessionId, messages: talk(1_000, 1_012) });
    const plan = await agent.plan({ sessionId, force: true });
    const { run } = await agent.compact({ sessionId });
    const { outcome } = await agent.waitForRun({ runId: run.id });
    const after = await agent.plan({ sessionId, force: true });
    expect(outcome).toMatchObject({ kind: "applied", degraded: false });
    expect(plan.lines.join(" ")).toContain(`at most ${plan.expectedTokens} tokens`);
    expect(after.viewTokens).toBeLessThanOrEqual(plan.expectedTokens);
    expect(plan.expectedTokens).toBeLessThan(plan.viewTokens);
  },
);

test("a rebuild is planned as it would be run: what is covered, from its first drafts", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "what was done"));
  expect(await agent.appendAll({ messages: talk(0, 12) })).toBeDefined();
  expect(await agent.plan({ rebuild: true })).toMatchObject({ plan: { kind: "nothing", reason: "no-overlay" } });
  const { run } = await agent.compact({});
  await agent.waitForRun({ runId: run.id });
  const [overlay] = await agent.getCompactions({});
  const { plan, waiting } = await agent.plan({ rebuild: true });
  expect(plan).toMatchObject({ kind: "span", rebuild: true, overlayIds: [overlay?.id] });
  expect(waiting).toBeNull();
});
