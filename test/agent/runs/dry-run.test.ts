/** Compares the forecast of `plan` with the run that follows it. */
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { noting, ofKind, rest, sayAll, sayWithNotes, SESSION } from "../../noted.ts";
import { makeGate, openGates, summaryOf } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";

skipRetryDelays();
afterEach(openGates);

const BULLET = "- The parser keeps its promise.";
const HEADINGS_TOKENS = 100;

/** Enough rules to fill the pinned part beside a summary. */
const ruled = (n: number): UIMessage => {
  const table = `Never touch table number ${n} of the accounting schema in production or staging. `;
  return n % 2 === 0 ? say(n, table) : say(n);
};

test.each([2_000, 6_000, 9_000, 30_000])(
  "a run never comes out above what its plan called the most, with a full summary and full pins: threshold %i (V3)",
  async (threshold) => {
    const sessionId = `planned!${threshold}`;
    const { agent } = newAgent((prompt) => {
      // Headings take the rest, because the audit counts words without the references.
      const room = (prompt.summaryTokens - HEADINGS_TOKENS) / prompt.sections.length;
      const bullets = Math.max(1, Math.floor(room / estimateTokens(`${BULLET}\n`)));
      return summaryOf(prompt, `${BULLET} [#1, #2, #3]\n`.repeat(bullets));
    });
    const messages = Array.from({ length: threshold / 100 + 40 }, (_, n) => ruled(n));
    await agent.appendAll({ sessionId, messages });
    for (const { id } of await agent.runs({ sessionId })) await agent.waitForRun({ runId: id });
    await agent.appendAll({ sessionId, messages: talk(1_000, 1_012) });
    const plan = await agent.plan({ sessionId, manual: true });
    const { run } = await agent.compact({ sessionId });
    const { outcome } = await agent.waitForRun({ runId: run.id });
    const after = await agent.plan({ sessionId, manual: true });
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

describe("whether notes would serve is said beforehand as the run then finds it", () => {
  const planned = { sessionId: SESSION, manual: true };
  /** The plan beforehand, and the outcome of a run that is asked for by hand. */
  async function compare(agent: PalimpsestAgent) {
    const report = await agent.plan(planned);
    const { run } = await agent.compact({ sessionId: SESSION });
    return { report, run: await agent.waitForRun({ runId: run.id }) };
  }

  test("they serve: what they replace, the view afterwards, no call", async () => {
    const { agent, stub } = newAgent(noting);
    await sayAll(agent, talk(0, 14));
    const rowsWritten = (): Promise<number> =>
      runInDurableObject(stub, (instance: PalimpsestAgent) => instance.palimpsest.db.meter.rowsWritten);
    const before = await rowsWritten();
    await agent.plan(planned);
    expect(await rowsWritten()).toBe(before);
    const { report, run } = await compare(agent);
    expect(run).toMatchObject({ path: "notes", plan: report.plan, outcome: { kind: "applied" } });
    expect(report).toMatchObject({ notes: { kind: "serve" }, modelTokens: 0, cost: { calls: 0 } });
    expect(report.lines.join(" ")).toMatch(/Version \d+ of the notes is the summary: no model is asked/);
    expect(report.lines.join(" ")).not.toContain("summariser");
    const { tokens } = await agent.getView({ sessionId: SESSION });
    expect(tokens).toBeLessThanOrEqual(report.expectedTokens);
  });

  test("they do not: the reason of the run's own record, in words", async () => {
    const { agent } = newAgent((prompt, call, runId) =>
      prompt.kind === "notes" ? "No changes." : noting(prompt, call, runId),
    );
    await sayAll(agent, talk(0, 14));
    const { report, run } = await compare(agent);
    expect(report.notes).toMatchObject({ kind: "declined", reason: "no-notes" });
    expect(run.whyModel).toMatchObject({ reason: "no-notes" });
    expect(report.lines.join(" ")).toMatch(/A model is asked although notes are kept \(no-notes\): There are no notes/);
    expect(report.cost.calls).toBeGreaterThan(0);
    expect(report.lines.join(" ")).toContain(`${report.savedTokensPerCall} tokens less`);
  });

  test("so much came behind them that the view would still be too large", async () => {
    const gate = makeGate();
    let held = false;
    const { agent } = newAgent(async (prompt, call, runId) => {
      if (held) await gate.pass();
      return noting(prompt, call, runId);
    });
    const sessionId = `${SESSION}-impatient`;
    await sayWithNotes(agent, sessionId);
    held = true;
    await agent.append({ sessionId, message: say(8, "a long paste of the log file. ".repeat(300)) });
    const { notes } = await agent.plan({ sessionId, manual: true });
    expect(notes).toMatchObject({ kind: "declined", reason: "over-threshold" });
    gate.open();
    const [run] = ofKind(await rest(agent, sessionId), "compaction").toReversed();
    expect(run?.whyModel).toMatchObject({ reason: "over-threshold" });
  });

  test("a rebuild, and a view that is not over the threshold; where none are kept, nothing is said of them", async () => {
    const { agent } = newAgent(noting);
    await sayAll(agent, talk(0, 19));
    expect(await agent.plan({ sessionId: SESSION, rebuild: true })).toMatchObject({
      notes: { kind: "declined", reason: "asked-otherwise" },
    });
    expect(await agent.plan({ sessionId: SESSION })).toMatchObject({
      plan: { kind: "nothing", reason: "under-threshold" },
      notes: { kind: "declined", reason: "under-threshold" },
    });
    await agent.appendAll({ messages: talk(0, 3) });
    expect(await agent.plan({})).toMatchObject({ notes: null });
  });
});
