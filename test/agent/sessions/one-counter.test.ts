/** A session's own token counter is the only one that its budgets use, wherever they measure something. */
import type { FullSession } from "../../rooms.ts";
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { Session } from "../../../src/agent/sessions/session.ts";
import { viewBeforeStep } from "../../../src/turn/turn.ts";
import { renderPinned } from "../../../src/facts/render.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { newAgent, skipRetryDelays, startRun } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { rest, sayAll } from "../../noted.ts";
import { summaryOf, type Script } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";

skipRetryDelays();

/** Counts twice what the estimate does. */
const twice = (text: string): number => estimateTokens(text) * 2;

/** About so many tokens, by the estimate. */
function words(tokens: number): string {
  return Array.from({ length: Math.floor(tokens / 2) }, (_, n) => `w${String.fromCharCode(97 + (n % 26))} x`)
    .join(" ")
    .slice(0, tokens * 3);
}

type Options = NonNullable<Parameters<Session["compactAfter"]>[1]>;

/** An agent whose default session uses this counter with a threshold of 4,000, some seventeen messages. */
async function counted(script: Script | null, build: (session: FullSession) => Session = (session) => session) {
  const made = newAgent(script);
  const options: Options = { chunkTokens: 3_000, tokenCounter: twice };
  await runInDurableObject(made.stub, async (agent: PalimpsestAgent) => {
    await build(Session.create(agent).compactAfter(4_000, options)).status();
  });
  return made;
}

test("a context block is full by the session's counter", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    const session = Session.create(agent)
      .withContext("plan", { maxTokens: 150 })
      .compactAfter(4_000, { tokenCounter: twice });
    const [fits, over] = [words(60), words(100)];
    expect(estimateTokens(over)).toBeLessThanOrEqual(150);
    expect((await session.replaceContextBlock("plan", fits)).tokens).toBe(twice(fits));
    await expect(session.replaceContextBlock("plan", over)).rejects.toMatchObject({ code: "block_full" });
  });
});

test("notes are counted, and cut where they are shown, by the session's counter", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    const session = Session.create(agent)
      .compactAfter(4_000, { tokenCounter: twice })
      .keepNotes({ sectionTokens: 300, maxTokens: 2_000, asBlock: "notes" });
    const lines = Array.from({ length: 16 }, (_, n) => `- ${n}: a line of some ten words, all told, in this one`);
    const text = lines.join("\n");
    expect(estimateTokens(text)).toBeGreaterThan(150);
    expect(estimateTokens(text)).toBeLessThan(300);
    const notes = await session.updateNotes({ sections: [{ title: "Worklog", text }] });
    expect(notes.tokens).toBe(twice(notes.text));
    const shown = (await session.getContextBlock("notes"))?.content ?? "";
    expect(shown).toContain("- 0: a line");
    expect(shown).not.toContain("- 15: a line");
  });
});

test("an answer about the notes is held to their budget by the session's counter, and so is what is told of it", async () => {
  const long = Array.from({ length: 12 }, (_, n) => `- step ${n} of the work was done and it was well done`).join("\n");
  const { agent, calls } = await counted(
    (prompt) => {
      if (prompt.kind !== "notes") return summaryOf(prompt, "summarised");
      return `## Worklog\n${prompt.problems.length === 0 ? long : "- all was done"}`;
    },
    (session) => session.keepNotes({ growthTokens: 900, toolCalls: 0, sectionTokens: 250, maxTokens: 2_000 }),
  );
  expect(estimateTokens(long)).toBeLessThan(250);
  await sayAll(agent, talk(0, 6), "");
  const [run] = await rest(agent, "");
  expect(calls.map(({ problems }) => problems)).toEqual([[], [expect.stringContaining(`${twice(long)} tokens`)]]);
  const notes = await agent.getNotes({});
  expect(run?.outcome).toMatchObject({ kind: "noted", tokens: twice(notes?.text ?? "") });
});

test("what a compaction from notes would come to is foreseen by the session's counter", async () => {
  const { agent } = await counted(
    (prompt) => (prompt.kind === "notes" ? "## Worklog\n- the parser was changed" : summaryOf(prompt, "summarised")),
    (session) =>
      session.keepNotes({
        growthTokens: 900,
        toolCalls: 0,
        maxTokens: 1_000,
        sectionTokens: 500,
        keep: { minTokens: 600, maxTokens: 2_400 },
      }),
  );
  await sayAll(agent, talk(0, 12), "");
  const { notes } = await agent.plan({ manual: true });
  expect(notes).toMatchObject({ kind: "serve" });
  await agent.waitForRun({ runId: (await agent.compact({})).run.id });
  const { viewTokens } = await agent.status({});
  expect((await agent.getCompactions({})).map(({ details }) => details.model)).toEqual(["notes"]);
  const most = notes?.kind === "serve" ? notes.expectedTokens : 0;
  // What may stand beside the notes is counted by its budgets.
  const { policy } = await agent.plan({ manual: true });
  expect(viewTokens).toBeLessThanOrEqual(most);
  expect(most - viewTokens).toBeLessThan(policy.pinnedTokens + policy.loadedTokens + 10);
});

test("a summary is audited by the session's counter, and the refusal names that count", async () => {
  // Twice 700 counted tokens are taken, and of what shrinks a little four fifths.
  const long = words(760);
  const { agent, calls } = await counted((prompt) =>
    prompt.kind === "repair" ? summaryOf(prompt, "short") : `${summaryOf(prompt, "told")}\n${long}`,
  );
  const run = await startRun(agent);
  await agent.waitForRun({ runId: run.id });
  const repairs = calls.filter(({ kind }) => kind === "repair");
  expect(repairs.length).toBeGreaterThan(0);
  for (const { problems } of repairs) expect(problems.join()).toMatch(/is \d{4} tokens; at most 1\d{3} are allowed/);
  const [overlay] = await agent.getCompactions({});
  expect(overlay?.summary).toContain("short");
});

test("a proposal is told in the session's count, and a person's own text is held to it", async () => {
  const { agent } = await counted(
    (prompt) => summaryOf(prompt, "what was done"),
    (session) => session.requireApproval(),
  );
  const run = await startRun(agent);
  for (;;) if ((await agent.getRun({ runId: run.id })).state === "proposed") break;
  const proposal = await agent.getProposal({ runId: run.id });
  expect(proposal?.tokens).toBe(twice(proposal?.summary ?? ""));
  const longer = `${proposal?.summary}\n${words(760)}`;
  expect(estimateTokens(longer)).toBeLessThan(1400);
  const decided = await agent.approveRun({ runId: run.id, summary: longer });
  expect(decided).toMatchObject({ kind: "unsound", problems: [{ kind: "too-large" }] });
  await agent.approveRun({ runId: run.id });
  await agent.waitForRun({ runId: run.id });
});

test("the model that needs no account answers within the session's count, at its first try", async () => {
  const { agent, calls } = await counted(null);
  const run = await startRun(agent, "", 30);
  const { outcome } = await agent.waitForRun({ runId: run.id });
  expect(outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls.filter(({ kind }) => kind === "repair")).toEqual([]);
  for (const { summary } of await agent.getCompactions({})) expect(twice(summary)).toBeLessThanOrEqual(700);
});

test("an extractive summary keeps to the session's count", async () => {
  const { agent } = await counted(() => ({ text: "", finishReason: "content-filter" }));
  const run = await startRun(agent, "", 30);
  const { outcome } = await agent.waitForRun({ runId: run.id });
  expect(outcome).toMatchObject({ kind: "applied", degraded: true });
  for (const { summary } of await agent.getCompactions({})) expect(twice(summary)).toBeLessThanOrEqual(700);
});

test("what stands beside a summary word for word keeps to its budget by the session's counter", async () => {
  const { agent } = await counted((prompt) => summaryOf(prompt, "what was done"));
  const rules = Array.from({ length: 20 }, (_, n) => `Never touch the folder named archive-${n} on any machine.`);
  const first = { ...say(0), parts: rules.map((text) => ({ type: "text" as const, text })) };
  await agent.appendAll({ messages: [...talk(1, 4), { ...first, id: "rules" }, ...talk(4, 20)] });
  const [run] = await agent.runs({});
  await agent.waitForRun({ runId: run?.id ?? "" });
  const [overlay] = await agent.getCompactions({});
  const { pinned } = overlay?.details ?? {};
  expect(pinned?.said.length).toBeGreaterThan(0);
  expect(pinned === undefined ? 0 : twice(renderPinned(pinned))).toBeLessThanOrEqual(run?.policy.pinnedTokens ?? 0);
});

test("what a reminder takes of a step's prompt is the session's count", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    const session = Session.create(agent)
      .withContext("todo", { whenChanged: "remind" })
      .compactAfter(40_000, { tokenCounter: twice });
    await session.appendAll(talk(0, 60));
    await session.freezeSystemPrompt();
    await session.replaceContextBlock("todo", words(2_000));
    for (let maxTokens = 6_000; maxTokens < 9_000; maxTokens += 250) {
      const { messages } = await viewBeforeStep(session, { maxTokens })();
      const texts = messages.flatMap(({ content }) =>
        typeof content === "string" ? [content] : content.map((part) => (part.type === "text" ? part.text : "")),
      );
      expect(texts.at(-1)).toContain(words(2_000));
      expect(texts.reduce((sum, text) => sum + twice(text), 0)).toBeLessThanOrEqual(maxTokens);
    }
  });
});
