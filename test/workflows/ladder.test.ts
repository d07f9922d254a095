/** The ladder of a draft. Tests the purpose and the cost of each rung, and that the last one holds. */
import { APICallError } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { runEvent } from "../../src/agent/events.ts";
import type { LiveRun, RunRecord } from "../../src/memory/runs/runs.ts";
import type { ParsedPrompt } from "../../src/steps/draft/prompt.ts";
import { newAgent, overlayOf, skipRetryDelays, startRun } from "../agents.ts";
import { say, textOf } from "../conversation.ts";
import { scriptModel, summaryOf, type Script } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

/** One chunk of some four thousand tokens, large enough to be cut in two. */
const sessionId = "wide!6000";

function modelSteps(run: RunRecord): string[] {
  return run.steps.map(({ name }) => name).filter((name) => /^(?:summarize|merge|repair|extract|split)/.test(name));
}

async function run(agent: PalimpsestAgent): Promise<RunRecord> {
  return agent.waitForRun({ runId: (await startRun(agent, sessionId, 56)).id });
}

/** Some of the files of a source, so that a summary of it keeps enough not to be sent back. */
function filesIn({ transcript, drafts }: ParsedPrompt): string {
  const files = new Set([transcript ?? "", ...drafts].join("\n").match(/src\/[\w-]+\.ts/g));
  return `: ${[...files].slice(0, 20).join(", ")}`;
}

function refuse(status: number): never {
  throw new APICallError({ message: "no", url: "", requestBodyValues: {}, statusCode: status });
}

test("a chunk that a model refuses is told in two halves, and neither is degraded", async () => {
  const { agent, calls } = newAgent((prompt) => {
    if ((prompt.transcript ?? "").length > 12_000) refuse(413);
    return summaryOf(prompt, prompt.kind) + filesIn(prompt);
  });
  const ended = await run(agent);
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls.map(({ kind }) => kind)).toEqual(["chunk", "chunk", "chunk", "merge"]);
  expect(modelSteps(ended)).toEqual(["summarize", "split", "summarize · half 1", "summarize · half 2", "merge"]);
  for (let past = 0; past <= ended.steps.length; past++) {
    const { done, total } = runEvent({ ...ended, outcome: null, steps: ended.steps.slice(0, past) } as LiveRun, 0);
    expect(done).toBeLessThan(total);
  }
  const [overlay] = await agent.getCompactions({ sessionId });
  expect(overlay?.details.madeOf).toHaveLength(2);
  expect(overlay?.details.madeOf.map((part) => part.kind)).toEqual(["leaf", "leaf"]);
});

test("a half that is refused as well becomes an extractive summary alone, and the overlay says degraded", async () => {
  const { agent } = newAgent((prompt) => {
    const source = prompt.transcript ?? "";
    if (source.length > 12_000 || source.includes("Message 20:")) refuse(413);
    return `${summaryOf(prompt, "told")}${filesIn(prompt)}`;
  });
  const ended = await run(agent);
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: true });
  expect(modelSteps(ended).filter((name) => name.startsWith("extract"))).toHaveLength(1);
  expect(modelSteps(ended).filter((name) => name.startsWith("split"))).toHaveLength(1);
});

const SECOND: readonly (readonly [string, Script])[] = [
  ["has no key", () => refuse(401)],
  ["is out of quota", () => refuse(402)],
  ["gives answers that cannot be used", () => "I'm sorry, but I cannot do that."],
];

test.each(SECOND)("a model that %s is replaced by the fallback model, which is asked once", async (_what, script) => {
  const { agent, name } = newAgent(script);
  const second = scriptModel(`${name}/fallback`, (prompt) => summaryOf(prompt, "from the second"));
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(second).toHaveLength(1);
  expect(ended.steps.map((step) => step.name)).toContainEqual("summarize · second");
  expect(textOf((await agent.getView({})).messages)).toContain("from the second");
});

test("with every model down an extractive summary stands in, whatever was tried before it (R1)", async () => {
  const { agent, name, calls } = newAgent(() => refuse(401));
  const second = scriptModel(`${name}/fallback`, () => refuse(402));
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: true });
  expect([calls.length, second.length]).toEqual([1, 1]);
});

const MADE_UP = "src/made/up/file-4711.ts";

test("an identifier that stands nowhere in the source is sent back once, with its name, and a mended draft is not marked", async () => {
  const { agent, calls } = newAgent((prompt) =>
    summaryOf(prompt, prompt.kind === "repair" ? "told" : `the fault was in ${MADE_UP}`),
  );
  await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(calls.map(({ kind }) => kind)).toEqual(["chunk", "repair"]);
  expect(calls[1]).toMatchObject({ drafts: [expect.stringContaining(MADE_UP)], transcript: null });
  expect(calls[1]?.problems.join()).toContain(`"${MADE_UP}"`);
  const [overlay] = await agent.getCompactions({});
  expect(overlay?.details).toMatchObject({ degraded: false, pinned: { unfounded: [] } });
  expect(overlay?.summary).not.toContain(MADE_UP);
});

test("an identifier that stays after its repair is marked, in later summaries too, and is not sent back again", async () => {
  const { agent, calls } = newAgent((prompt) => summaryOf(prompt, `the fault was in ${MADE_UP}`));
  const first = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(first.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(calls.map(({ kind }) => kind)).toEqual(["chunk", "repair"]);
  const unfounded = async () => (await agent.getCompactions({})).at(-1)?.details.pinned.unfounded;
  expect(await unfounded()).toEqual([MADE_UP]);
  await agent.appendAll({ messages: Array.from({ length: 10 }, (_, n) => say(n + 17)) });
  const [latest] = await agent.runs({});
  const second = await agent.waitForRun({ runId: latest?.id ?? "" });
  expect(second.plan).toMatchObject({ overlayIds: [overlayOf(first)] });
  expect(calls.map(({ kind }) => kind)).toEqual(["chunk", "repair", "chunk"]);
  expect(await unfounded()).toEqual([MADE_UP]);
});

test("an identifier that a repair makes up is marked", async () => {
  const { agent, calls } = newAgent((prompt) =>
    summaryOf(prompt, `the fault was in ${prompt.kind === "repair" ? "src/other/file-4712.ts" : MADE_UP}`),
  );
  await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(calls.map(({ kind }) => kind)).toEqual(["chunk", "repair"]);
  const [overlay] = await agent.getCompactions({});
  expect(overlay?.details.pinned.unfounded).toEqual(["src/other/file-4712.ts"]);
});

test("halves of a chunk that would have carried a summary on are merged with that summary", async () => {
  let fails = false;
  const { agent, calls } = newAgent((prompt) => {
    if (fails && prompt.kind === "chunk" && prompt.previous !== null) refuse(413);
    return summaryOf(prompt, `${prompt.kind} ${fails ? "again" : "first"}`);
  });
  const first = await run(agent);
  fails = true;
  const paid = calls.length;
  await agent.appendAll({ sessionId, messages: Array.from({ length: 40 }, (_, n) => say(n + 56)) });
  const [latest] = await agent.runs({ sessionId });
  const second = await agent.waitForRun({ runId: latest?.id ?? "" });
  expect(second.outcome).toMatchObject({ kind: "applied", degraded: false });
  const asked = calls.slice(paid);
  expect(asked.map(({ kind }) => kind)).toEqual(["chunk", "chunk", "chunk", "merge"]);
  expect(asked.map(({ previous }) => previous?.includes("chunk first") ?? false)).toEqual([true, false, false, true]);
  expect(asked[3]?.drafts).toHaveLength(2);
  const [overlay] = (await agent.getCompactions({ sessionId })).slice(-1);
  expect(overlay?.details.madeOf).toMatchObject([
    { kind: "overlay", id: overlayOf(first) },
    { kind: "leaf", draftKey: expect.any(String) as unknown },
    { kind: "leaf", draftKey: expect.any(String) as unknown },
  ]);
});

test("a degraded overlay is not carried on: the next fold asks a model for what only an extractive summary told", async () => {
  let up = false;
  const { agent, calls } = newAgent((prompt) => (up ? summaryOf(prompt, `by a model: ${prompt.kind}`) : refuse(400)));
  const first = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(first.outcome).toMatchObject({ kind: "applied", degraded: true });
  up = true;
  const down = calls.length;
  await agent.appendAll({ messages: Array.from({ length: 12 }, (_, n) => say(n + 17)) });
  const [latest] = await agent.runs({});
  const second = await agent.waitForRun({ runId: latest?.id ?? "" });
  expect(second.plan).toMatchObject({ rebuild: true, overlayIds: [overlayOf(first)] });
  expect(second.outcome).toMatchObject({ kind: "applied", degraded: false });
  const asked = calls.slice(down);
  expect(asked.at(-1)).toMatchObject({ kind: "merge", previous: null });
  expect(asked.map(({ transcript }) => transcript).join()).toContain("Message 3:");
  expect(textOf((await agent.getView({})).messages)).toContain("by a model: merge");
});
