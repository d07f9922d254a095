/** The ladder of a draft. Tests the purpose and the cost of each rung, and that the last one holds. */
import { APICallError } from "@ai-sdk/provider";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
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
  expect(modelSteps(ended)).toEqual([
    expect.stringMatching(/^summarize and add 1 of 1 · \w{8}$/),
    expect.stringMatching(/^split 1 of 1 · \w{8}$/),
    expect.stringMatching(/^summarize 2 of 1 · \w{8}$/),
    expect.stringMatching(/^summarize 3 of 1 · \w{8}$/),
    "merge and add 1 of 1 · round 1",
  ]);
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
  ["gives answers that cannot be used", () => "We talked for a while."],
];

test.each(SECOND)("a model that %s is replaced by the fallback model, which is asked once", async (_what, script) => {
  const { agent, name } = newAgent(script);
  const second = scriptModel(`${name}/fallback`, (prompt) => summaryOf(prompt, "from the second"));
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(second).toHaveLength(1);
  expect(ended.steps.map((step) => step.name)).toContainEqual(
    expect.stringMatching(/^summarize and add 1 of 1 · \w{8} · second$/),
  );
  expect(textOf((await agent.getView({})).messages)).toContain("from the second");
});

test("with every model down an extractive summary stands in, whatever was tried before it (R1)", async () => {
  const { agent, name, calls } = newAgent(() => refuse(401));
  const second = scriptModel(`${name}/fallback`, () => refuse(402));
  const ended = await agent.waitForRun({ runId: (await startRun(agent)).id });
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: true });
  expect([calls.length, second.length]).toEqual([1, 1]);
});

test("a draft that loses what matters is sent back once, with what is missing named", async () => {
  const rules = Array.from({ length: 160 }, (_, n) => `Never touch billing_${n}.`);
  const { agent, calls } = newAgent((prompt) =>
    prompt.kind === "repair"
      ? `${summaryOf(prompt, "told")} ${prompt.problems.join(" ")}`
      : summaryOf(prompt, "something was said"),
  );
  // Behind the first message, which is kept as it was asked for.
  const told: UIMessage = { id: "rules", role: "user", parts: [{ type: "text", text: rules.join("\n") }] };
  await agent.appendAll({ messages: [say(0), say(1), told] });
  await agent.appendAll({ messages: Array.from({ length: 16 }, (_, n) => say(n + 2)) });
  for (const { id } of await agent.runs({})) await agent.waitForRun({ runId: id });
  const repair = calls.find(({ kind }) => kind === "repair");
  // The chunk with the rules and the fold of all are each sent back once. The chunks without rules are not. Chunks are asked side by side.
  const kinds = calls.map(({ kind }) => kind);
  expect(kinds.slice(0, 4).toSorted()).toEqual(["chunk", "chunk", "chunk", "repair"]);
  expect(kinds.slice(4)).toEqual(["merge", "repair"]);
  expect(repair?.problems.join()).toContain("Never touch billing_");
  const [ended] = await agent.runs({});
  expect(ended?.outcome).toMatchObject({ kind: "applied", degraded: false });
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
