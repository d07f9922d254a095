/** The outcome of a run, with a working model and with each kind of failing one. */
import { APICallError } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import type { ParsedPrompt } from "../../src/steps/draft/prompt.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { newAgent, overlayOf, startRun, skipRetryDelays } from "../agents.ts";
import { say, talk, textOf } from "../conversation.ts";
import { makeGate, summaryOf, type Answer } from "../scripted-model.ts";

skipRetryDelays();

function modelSteps(run: RunRecord): string[] {
  return run.steps.map((step) => step.name).filter((name) => /^(?:summarize|merge|repair|extract)/.test(name));
}

function messagesIn({ transcript }: ParsedPrompt): string[] {
  return [...(transcript ?? "").matchAll(/Message \d+:/g)].map(([message]) => message);
}

// --- a model that works -------------------------------------------------------------------------------------------------

test("a caller's large summary that is folded in has room for more than half of its words", async () => {
  const words = "It was agreed to keep the trailing comma. ".repeat(150);
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.appendAll({ sessionId: "quiet!30000", messages: talk(0, 60) });
  const range = { fromMessageId: "m3", toMessageId: "m45" };
  await agent.addCompaction({ sessionId: "quiet!30000", summary: words, ...range });
  const { run } = await agent.compact({ sessionId: "quiet!30000" });
  expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { kind: "applied" } });
  const folds = calls.filter(({ previous }) => previous?.includes("trailing comma") === true);
  expect(folds).toHaveLength(1);
  expect(folds[0]?.summaryTokens).toBeGreaterThan(estimateTokens(words) / 2);
});

test("a conversation that crosses its threshold is compacted by a durable run, and nothing of it is lost (M1, R1)", async () => {
  const { agent } = newAgent();
  const stored = talk(0, 40);
  for (const message of stored) await agent.append({ message });
  // A run's end may ask for another.
  for (;;) {
    const live = (await agent.runs({})).find(({ outcome }) => outcome === null);
    if (live === undefined) break;
    await agent.waitForRun({ runId: live.id });
  }
  const runs = await agent.runs({});
  expect(runs.map((run) => run.outcome?.kind)).toEqual(runs.map(() => "applied"));
  expect(runs.length).toBeGreaterThan(0);
  expect((await agent.getView({})).tokens).toBeLessThan(2_000 + 300);
  for (const message of stored) expect(await agent.getMessage({ id: message.id })).toEqual(message);
});

test("the append that crosses the threshold leaves a ledger row behind when it returns", async () => {
  const gate = makeGate();
  const { agent } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "done");
  });
  let appended = 0;
  while ((await agent.runs({})).length === 0) await agent.append({ message: say(appended++) });
  const [run] = await agent.runs({});
  expect(run).toMatchObject({ trigger: "threshold", leafId: `m${appended - 1}`, outcome: null });
  expect(run?.tokensBefore).toBeGreaterThan(2_000);
  gate.open();
  expect((await agent.waitForRun({ runId: run?.id ?? "" })).outcome).toMatchObject({
    kind: "applied",
    degraded: false,
  });
});

test("a manual run compacts under the threshold, and its focus reaches the summariser", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.appendAll({ messages: talk(0, 13) });
  const { run, joined } = await agent.compact({ focus: "the name of the parser" });
  expect(joined).toBe(false);
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended).toMatchObject({ trigger: "manual", focus: "the name of the parser", outcome: { kind: "applied" } });
  expect(calls.map((call) => call.focus)).toEqual(["the name of the parser"]);
});

test("a caller whose prompt was refused as too long asks for a run and waits for it", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.appendAll({ messages: talk(0, 13) });
  const before = (await agent.getView({})).tokens;
  const { run } = await agent.compactNow({ reason: "overflow" });
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended).toMatchObject({ trigger: "overflow", outcome: { kind: "applied", tokensBefore: before } });
  expect((await agent.getView({})).tokens).toBeLessThan(before);
});

test("the next run carries on the summary of the one before in one call, and reads only what is new", async () => {
  const { agent, calls } = newAgent((prompt, call) => summaryOf(prompt, `summary ${call}`));
  const first = await agent.waitForRun({ runId: (await startRun(agent)).id });
  await agent.appendAll({ messages: talk(17, 27) });
  const [latest] = await agent.runs({});
  const second = await agent.waitForRun({ runId: latest?.id ?? "" });
  expect(first.outcome).toMatchObject({ kind: "applied" });
  expect(second.outcome).toMatchObject({ kind: "applied" });
  expect(second.plan?.overlayIds).toEqual([overlayOf(first)]);
  expect(calls.map((call) => call.kind)).toEqual(["chunk", "chunk"]);
  expect(calls.map(({ previous }) => previous)).toEqual([null, expect.stringContaining("summary 0")]);
  const [firstRead = [], secondRead = []] = calls.map(messagesIn);
  expect(secondRead.length).toBeGreaterThan(0);
  expect(secondRead.filter((message) => firstRead.includes(message))).toEqual([]);
  const shown = textOf((await agent.getView({})).messages);
  expect(shown).toContain("summary 1");
  expect(shown).not.toContain("summary 0");
});

test("a span larger than one call is summarised in parts at the same time, and merged", async () => {
  const gate = makeGate();
  let waiting = 0;
  const { agent, calls } = newAgent(async (prompt) => {
    if (prompt.kind === "merge") return summaryOf(prompt, "merged");
    // Opens only when all of them wait. Calls one after the other would wait for ever.
    if (++waiting === 3) gate.open();
    await gate.pass();
    return summaryOf(prompt, "part");
  });
  const run = await startRun(agent, "long!6000", 49);
  const ended = await agent.waitForRun({ runId: run.id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(ended.chunkDigests).toHaveLength(3);
  expect(calls.map((call) => call.kind)).toEqual(["chunk", "chunk", "chunk", "merge"]);
  expect(calls[3]?.drafts).toHaveLength(3);
  expect(ended.modelCalls).toBe(4);
  expect(textOf((await agent.getView({ sessionId: "long!6000" })).messages)).toContain("merged");
});

test("a retry of a cancelled run makes no call for what was already paid for (R3)", async () => {
  const merging = makeGate();
  const { agent, calls } = newAgent(async (prompt) => {
    if (prompt.kind === "merge") await merging.pass();
    return summaryOf(prompt, prompt.kind);
  });
  const run = await startRun(agent, "long!6000", 49);
  await merging.reached();
  await agent.cancelRun({ runId: run.id });
  merging.open();
  const retried = await agent.retryRun({ runId: run.id });
  const ended = await agent.waitForRun({ runId: retried.run.id });
  expect(ended).toMatchObject({ retryOf: run.id, modelCalls: 1, outcome: { kind: "applied" } });
  expect(calls.filter((call) => call.kind === "chunk")).toHaveLength(3);
  expect(ended.steps.filter((step) => step.reused).map((step) => step.name.slice(0, 9))).toEqual([
    "summarize",
    "summarize",
    "summarize",
  ]);
});

test("a run over a rolled back span finds its drafts again: compacting the same twice costs nothing (R3)", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, "done"));
  const first = await startRun(agent);
  const ended = await agent.waitForRun({ runId: first.id });
  const paid = calls.length;
  await agent.rollback({ overlayId: overlayOf(ended) });
  const { run } = await agent.compact({});
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
  expect(calls).toHaveLength(paid);
});

test("having nothing to do is an outcome, with its reason", async () => {
  const { agent, calls } = newAgent();
  await agent.appendAll({ messages: talk(0, 3) });
  const { run } = await agent.compact({});
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "nothing", reason: "too-short" });
  expect(calls).toEqual([]);
});

// --- a model that does not ----------------------------------------------------------------------------------------------

test("a summariser that fails and then answers costs attempts, which the ledger counts, and nothing else", async () => {
  const { agent, calls } = newAgent((prompt, call) => {
    if (call < 3) throw new Error("503 overloaded");
    return summaryOf(prompt, "at last");
  });
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(ended.steps.find((step) => step.name.startsWith("summarize"))?.attempts).toBe(4);
  expect(calls).toHaveLength(4);
  expect(ended.modelCalls).toBe(1);
});

test("a model that is down is not asked again by the rest of its run", async () => {
  const { agent, calls } = newAgent(() => {
    throw new APICallError({ message: "no", url: "", requestBodyValues: {}, statusCode: 401 });
  });
  const ended = await agent.waitForRun({ runId: (await startRun(agent, "long!6000", 49)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: true });
  expect(ended.chunkDigests).toHaveLength(3);
  // One call for each chunk that was live at the same time, and none for the merge.
  expect(calls).toHaveLength(3);
});

test("a compaction that a person undid does not come straight back, and asked for afresh is written anew", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, `take ${calls.length}`));
  const run = await startRun(agent);
  const overlayId = overlayOf(await agent.waitForRun({ runId: run.id }));
  await agent.rollback({ overlayId });
  const before = (await agent.runs({})).length;
  await agent.append({ message: { id: "after", role: "user", parts: [{ type: "text", text: "go on" }] } });
  expect(await agent.runs({})).toHaveLength(before);
  const asked = calls.length;
  const again = await agent.compact({ fresh: true });
  expect(await agent.waitForRun({ runId: again.run.id })).toMatchObject({
    outcome: { kind: "applied" },
    modelCalls: 1,
  });
  expect(calls).toHaveLength(asked + 1);
});

test("a summary that a model folded from parts says degraded when one part was an extractive summary", async () => {
  let first = "";
  const { agent } = newAgent((prompt) => {
    first ||= prompt.transcript ?? "";
    if (prompt.transcript === first)
      throw new APICallError({ message: "no", url: "", requestBodyValues: {}, statusCode: 400 });
    return summaryOf(prompt, prompt.kind);
  });
  const ended = await agent.waitForRun({ runId: (await startRun(agent, "long!6000", 49)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: true });
  expect(ended.modelCalls).toBe(3);
});

const UNSOUND: readonly (readonly [string, Answer])[] = [
  ["an empty answer", ""],
  ["a refusal", "I'm sorry, but I can't help with that SECRET."],
  ["an unfinished answer", { text: "## Goal\nSECRET and the", finishReason: "length" }],
  ["a filtered answer", { text: "SECRET", finishReason: "content-filter" }],
  ["an answer longer than its source", "## Goal\n" + "SECRET and more of the same. ".repeat(2_000)],
  ["an echo of the transcript", "[#1 user]\nSECRET\n[#2 assistant]\nyes\n[#3 user]\nmore\n[#4 assistant]\nwell"],
  ["a tool call", { toolName: "search" }],
  ["a tool call written as text", '{"name": "search", "arguments": {"q": "SECRET"}}'],
  [
    "a refusal under each heading",
    "## Goal\nI can't help with SECRET.\n## Done\nI can't say SECRET.\n## State\nSorry, no SECRET.",
  ],
  ["one sentence under each heading", "## Goal\nSECRET.\n## Done\nSECRET.\n## State\n- SECRET."],
  ["a word in place of a summary", "SECRET"],
  ["a sentence that says next to nothing", "We talked about SECRET for a while."],
  ["the error of an API", '{"error": {"message": "SECRET is overloaded", "code": 529}}'],
];

test.each(UNSOUND)("%s is never shown: an extractive summary stands in, and says so (V3)", async (_what, answer) => {
  const { agent } = newAgent(() => answer);
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: true });
  const view = await agent.getView({});
  expect(textOf(view.messages)).not.toContain("SECRET");
  expect(view.tokens).toBeLessThan(ended.tokensBefore);
});

test.each(UNSOUND)("%s is asked for again, by retry or repair, and a sound one is used", async (_what, answer) => {
  const { agent, calls } = newAgent((prompt, call) => (call === 0 ? answer : summaryOf(prompt, "sound")));
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  const filtered = typeof answer === "object" && "finishReason" in answer && answer.finishReason === "content-filter";
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: filtered });
  expect(calls).toHaveLength(filtered ? 1 : 2);
  const shown = textOf((await agent.getView({})).messages);
  expect(shown).not.toContain("SECRET");
  // A refused answer must not be found as a draft later. A rerun over the same span finds the sound one.
  await agent.rollback({ overlayId: overlayOf(ended) });
  const again = await agent.waitForRun({ runId: (await agent.compact({})).run.id });
  expect(again.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(modelSteps(again)).toHaveLength(1);
});

test("a repair is told what was wrong, and what was refused", async () => {
  const long = "## Goal\n" + "The parser keeps its promise to the ledger. ".repeat(80);
  const { agent, calls } = newAgent((prompt) => (prompt.kind === "repair" ? summaryOf(prompt, "mended") : long));
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls[1]).toMatchObject({ kind: "repair", drafts: [long.trim()] });
  expect(calls[1]?.problems.join()).toMatch(/at most \d+ are allowed.*Condense it/);
});

test("an answer that is no summary is asked for again from its source: there is nothing in it to mend", async () => {
  const { agent, calls } = newAgent((prompt, call) =>
    call === 0 ? "I'm sorry, but I can't help with that SECRET." : summaryOf(prompt, "told from the source"),
  );
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls[1]).toMatchObject({ kind: "chunk", transcript: calls[0]?.transcript, drafts: [] });
  expect(calls[1]?.problems.join()).toContain("declines");
});

const PROSE =
  "The user asked for changes of the parser, the scheduler and the ledger, file by file, and each of them keeps its promise now. " +
  "Nothing failed. Next comes the watchdog, which the user has not begun to describe yet.";

test("good prose without a heading is a summary, and is taken at the first try", async () => {
  const { agent, calls } = newAgent(() => PROSE);
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls).toHaveLength(1);
  expect(textOf((await agent.getView({})).messages)).toContain(PROSE);
});

/** A summary of so many times the tokens that were asked for. */
function longAnswer(prompt: ParsedPrompt, times: number): string {
  const line = "- The parser keeps its promise to the ledger, and the scheduler to the fence.\n";
  return `## Done\n${line.repeat(Math.floor((prompt.summaryTokens * times) / estimateTokens(line)))}`;
}

test("an answer half as long again as it was asked to be is taken, and a longer one is sent back", async () => {
  const sessionId = "wide!24000";
  for (const [times, kinds] of [
    [1.4, ["chunk"]],
    [2, ["chunk", "repair"]],
  ] as const) {
    const { agent, calls } = newAgent((prompt) => longAnswer(prompt, prompt.kind === "repair" ? 0.5 : times));
    await agent.appendAll({ sessionId, messages: talk(0, 90) });
    const { run } = await agent.compact({ sessionId });
    expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied", degraded: false });
    expect([times, calls.map(({ kind }) => kind)]).toEqual([times, kinds]);
  }
});
